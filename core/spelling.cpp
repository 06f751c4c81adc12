#include "core/spelling.h"

#include <algorithm>
#include <cctype>

namespace plait {
namespace {

constexpr std::size_t kMost = 4;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_joint(char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }

/// As names are compared: in lower case, with one kind of joint, without a hub's owner or how many
/// there are ("8xh100"); GPUs are devices.
std::string plain(std::string_view word) {
  std::string out = lower_case(word.substr(word.rfind('/') + 1));
  std::ranges::replace(out, '_', '-');
  std::ranges::replace(out, ' ', '-');
  const auto x = static_cast<std::size_t>(std::ranges::find_if_not(out, is_digit) - out.begin());
  const bool counted = x > 0 && x + 1 < out.size() && out[x] == 'x' && !is_digit(out[x + 1]);
  if (counted) out.erase(0, x + 1);
  if (out.starts_with("gpus-")) out.replace(0, 4, "devices");
  return out;
}

/// For each letter, whether the word between joints that it is in has a number.
std::vector<bool> in_numbered_words(std::string_view text) {
  std::vector<bool> out(text.size());
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    std::size_t end = begin;
    while (end < text.size() && !is_joint(text[end])) ++end;
    const bool numbered = std::ranges::any_of(text.substr(begin, end - begin), is_digit);
    for (; begin < end; ++begin) out[begin] = numbered;
  }
  return out;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// True where `part` is whole words of `name`: "h100" of "hgx-h100", and not "100".
bool is_part(std::string_view part, std::string_view name) {
  if (part.size() < 2) return false;
  for (std::size_t at = name.find(part); at != std::string_view::npos;
       at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || is_joint(name[at - 1])) && (end == name.size() || is_joint(name[end]))) {
      return true;
    }
  }
  return false;
}

/// The nearest name, of equally near ones that which begins most alike, where that is near enough
/// to be a slip: a third of the word's letters.
std::vector<std::string> slips(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string> best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t d = edit_distance(word, plain(name));
    const bool more_alike = d == least && !best.empty() &&
                            common_prefix(word, plain(name)) > common_prefix(word, plain(best[0]));
    if (d < least || more_alike) best = {name}, least = d;
  }
  return best;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> rows((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return rows[i * width + j]; };
  const std::vector<bool> numbered_a = in_numbered_words(a), numbered_b = in_numbered_words(b);
  // h100 and a100 are two things, as 3090 and 4090 are, and neither is a slip of the other.
  const auto exchange_cost = [&](std::size_t i, std::size_t j) -> std::size_t {
    if (a[i] == b[j]) return 0;
    const bool alike = is_digit(a[i]) == is_digit(b[j]);  // a letter O for a 0 is a slip
    return alike && numbered_a[i] && numbered_b[j] ? 2 : 1;
  };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = at(i - 1, j - 1) + exchange_cost(i - 1, j - 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, exchanged});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return rows.back();
}

std::vector<std::string> names_like(std::string_view word, const std::vector<std::string>& names) {
  const std::string meant = plain(word);
  const bool numbered = std::ranges::any_of(meant, is_digit);
  bool begins = false;  // "a100" is how "a100-80-sxm" begins, and no slip of "a10"
  std::vector<std::string> longer, shorter;
  for (const std::string& name : names) {
    const std::string known = plain(name);
    if (known == meant) return {name};
    if (is_part(known, meant)) shorter.push_back(name);
    if (!is_part(meant, known)) continue;
    longer.push_back(name);
    begins = begins || (numbered && known.starts_with(meant));
  }
  std::ranges::stable_sort(longer, {}, &std::string::size);  // few words are left out
  std::vector<std::string> out = slips(meant, names);
  // A typo of one letter is likelier than a part of another name.
  if (begins || (!out.empty() && edit_distance(meant, plain(out.front())) > 1)) out.clear();
  if (out.empty()) out = longer;
  if (out.empty()) out = shorter;
  if (out.empty()) out = slips(meant, names);
  if (const std::size_t joint = meant.find('-'); out.empty() && joint != std::string::npos) {
    out = slips(meant.substr(joint + 1), names);  // "meta-llama-3-8b"
  }
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

std::string slip_of(std::string_view word, const std::vector<std::string>& names) {
  std::size_t beyond = word.size() < 12 ? 2 : 3;
  std::string out;
  for (const std::string& name : names) {
    const std::size_t d = edit_distance(word, name);
    if (d < beyond) out = name, beyond = d;
  }
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names,
                         std::string_view quote) {
  const std::vector<std::string> like = names_like(word, names);
  std::string out;
  for (std::size_t i = 0; i < like.size(); ++i) {
    if (i > 0) out += i + 1 == like.size() ? " or " : ", ";
    out.append(quote).append(like[i]).append(quote);
  }
  return out.empty() ? "" : "did you mean " + out + "?";
}

}  // namespace plait
