#include "scenarios/dialects/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/spelling.h"
#include "core/split.h"
#include "scenarios/dialects/grouped_number.h"

namespace plait {
namespace {

/// "-m", "-ngl"; neither "-1" nor "--model".
bool has_one_dash(const std::string& t) { return t.size() > 1 && t[0] == '-' && t[1] >= 'A'; }

bool is_option(const ShellWord& word, Dashes dashes) {
  const std::string& t = word.text;
  return (dashes == Dashes::kOneOrTwo && has_one_dash(t)) ||
         (t.size() > 2 && t.starts_with("--") && t[2] != '-');
}

/// "-m" and kin begin something else: their launcher's business.
bool ends_values(const ShellWord& word) {
  const std::string& t = word.text;
  return has_one_dash(t) || t.ends_with(".py") || t == "torchrun" || t == "srun" || t == "python" ||
         t == "python3";
}

/// No word between the dashes is another: --vocab-file is no slip of --vocab-size, and -t none of
/// -a.
bool has_its_words(const std::string& name, const std::string& slip) {
  if (!name.starts_with("--")) return false;
  const std::vector<std::string> a = split(name, '-'), b = split(slip, '-');
  if (a.size() != b.size()) return true;  // a dash is the slip
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (edit_distance(a[i], b[i]) > std::max<std::size_t>(1, a[i].size() / 4)) return false;
  }
  return true;
}

/// Of a value that only a shell could fill in.
std::string cure_of_unknown(const std::string& value) {
  const bool is_argument =
      value.size() > 1 && value[0] == '$' && value[1] >= '0' && value[1] <= '9';
  return is_argument ? "write the value there, or say in a line before what a caller would: set -- "
                       "VALUE ..."
                     : "write the value where the file has a shell variable";
}

bool same_values(const std::vector<ShellWord>& a, const std::vector<ShellWord>& b) {
  return std::ranges::equal(a, b, {}, &ShellWord::text, &ShellWord::text);
}

}  // namespace

std::vector<ShellWord> with_names(std::vector<ShellWord> words, std::span<const Alias> aliases) {
  for (ShellWord& word : words) {
    const std::size_t end = std::min(word.text.find('='), word.text.size());
    const auto alias = std::ranges::find(aliases, word.text.substr(0, end), &Alias::other);
    if (alias != aliases.end()) word.text.replace(0, end, alias->name);
  }
  return words;
}

Arguments::Arguments(const std::vector<ShellWord>& words, std::string file, Dashes dashes,
                     std::span<const std::string_view> lists)
    : file_(std::move(file)), lists_(lists.begin(), lists.end()) {
  bool open = false;
  for (const ShellWord& word : words) {
    if (!is_option(word, dashes)) {
      open = open && !word.begins && !ends_values(word);
      if (open) options_.back().values.push_back(word);
      if (!open && word.nothing) nothing_.push_back(word);
      if (options_.empty()) leading_.push_back(word);
      continue;
    }
    const std::size_t equals = word.text.find('=');
    Option option{.name = word.text.substr(0, equals), .values = {}, .line = word.line};
    std::ranges::replace(option.name, '_', '-');
    open = equals == std::string::npos;
    if (!open) option.values.push_back({word.text.substr(equals + 1), word.line, word.unknown});
    options_.push_back(std::move(option));
  }
}

const Arguments::Option* Arguments::find(std::string_view name) {
  asked_.emplace(name);
  const Option* found = nullptr;
  for (Option& o : options_) {
    if (o.name != name) continue;
    o.read = true;
    if (found == nullptr || !is_list(name)) found = &o;
  }
  return found;
}

void Arguments::pass_over(std::string_view name, std::string_view value) {
  asked_.emplace(name);
  for (Option& o : options_) {
    const bool is_it = value.empty() || (!o.values.empty() && o.values.front().text == value);
    if (o.name == name && !o.read && is_it) o.read = o.idle = true;
  }
}

bool Arguments::flag(std::string_view name) {
  const Option* option = find(name);
  for (Option& o : options_) o.is_switch = o.is_switch || o.name == name;
  if (option == nullptr || option->values.empty()) return option != nullptr;
  const std::string value = lower_case(option->values.front().text);
  if (value == "true" || value == "false") malformed(*option, "no value: the option is a switch");
  return true;
}

std::vector<ShellWord> Arguments::values_of(std::string_view name) {
  std::vector<ShellWord> out;
  if (find(name) == nullptr) return out;
  for (const Option& o : options_) {
    if (o.name != name) continue;
    if (o.values.empty() || o.values.front().unknown) malformed(o, "a value");
    out.push_back(o.values.front());
  }
  return out;
}

int Arguments::line(std::string_view name) {
  const Option* option = find(name);
  return option == nullptr ? 0 : option->line;
}

void Arguments::malformed(const Option& option, const std::string& expected) const {
  const bool unknown = !option.values.empty() && option.values.front().unknown;
  const std::string value = option.values.empty() ? "no value" : option.values.front().text;
  const std::string cure = unknown ? cure_of_unknown(value) : "correct the value";
  throw InputError(
      {"D003",
       fmt::format("{} has {}", option.name, option.values.empty() ? value : "\"" + value + "\""),
       at(option), expected, cure});
}

void Arguments::malformed(std::string_view name, const std::string& expected) {
  malformed(*find(name), expected);
}

std::optional<std::string> Arguments::text(std::string_view name) {
  const Option* option = find(name);
  if (option == nullptr) return std::nullopt;
  if (option->values.empty() || option->values.front().unknown) malformed(*option, "a value");
  return option->values.front().text;
}

std::optional<std::string> Arguments::one_of(std::string_view name,
                                             const std::vector<std::string>& names) {
  std::optional<std::string> value = text(name);
  if (value && std::ranges::count(names, *value) == 0) {
    malformed(*find(name), fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return value;
}

std::optional<std::int64_t> Arguments::integer(std::string_view name, std::int64_t min) {
  const Option* option = find(name);
  if (option == nullptr) return std::nullopt;
  for (Option& o : options_) o.is_number = o.is_number || o.name == name;
  const auto value = option->values.empty()
                         ? std::nullopt
                         : parse_grouped_number<std::int64_t>(option->values.front().text);
  if (!value || *value < min || *value > std::int64_t{1} << 40) {
    malformed(*option, fmt::format("an integer of at least {}", min));
  }
  return value;
}

std::optional<double> Arguments::number(std::string_view name) {
  const Option* option = find(name);
  if (option == nullptr) return std::nullopt;
  const auto value = option->values.empty()
                         ? std::nullopt
                         : parse_grouped_number<double>(option->values.front().text);
  if (!value) malformed(*option, "a number");
  return value;
}

void Arguments::exclusive(std::string_view a, std::string_view b) {
  if (flag(a) && flag(b)) contradiction(b, fmt::format("{} (line {})", a, line(a)));
}

void Arguments::contradiction(std::string_view name, const std::string& why,
                              const std::string& cure) {
  throw InputError({"D004", fmt::format("{} contradicts {}", name, why), at(*find(name)),
                    "settings that the program itself accepts", cure});
}

void Arguments::unsupported(std::string_view name, const std::string& what) {
  const Option* option = find(name);
  if (option == nullptr) return;
  throw InputError({"D006", fmt::format("{} asks for {}, which a scenario cannot say", name, what),
                    at(*option), "settings that a scenario has fields for",
                    "remove it, or import another run"});
}

void Arguments::report_nothing(Warnings& warnings) const {
  std::vector<std::string> names;
  const auto add = [&](const ShellWord& word) {
    const std::string name = fmt::format("{} (line {})", word.text, word.line);
    if (word.nothing && std::ranges::count(names, name) == 0) names.push_back(name);
  };
  std::ranges::for_each(nothing_, add);
  for (const Option& o : options_) {
    // The first is the option's value, unless it takes none, or is not known and stands elsewhere.
    const bool takes = !o.is_switch && !o.values.empty() && (o.read || o.values[0].line == o.line);
    std::for_each(o.values.begin() + (takes ? 1 : 0), o.values.end(), add);
  }
  if (names.empty()) return;
  warnings.push_back(
      {"W008", fmt::format("read as nothing, since the script does not say what it is: {}",
                           fmt::join(names, ", "))});
}

void Arguments::report_repeated(Warnings& warnings) const {
  std::vector<std::string> names;
  for (auto last = options_.rbegin(); last != options_.rend(); ++last) {
    const auto is_other = [&](const Option& o) {
      return o.name == last->name && !same_values(o.values, last->values);
    };
    const bool counts = last->read && !last->idle && !is_list(last->name);
    const bool is_last = std::none_of(options_.rbegin(), last,
                                      [&](const Option& o) { return o.name == last->name; });
    if (!counts || !is_last || std::ranges::none_of(options_, is_other)) continue;
    const std::string value = last->values.empty() ? "" : " " + last->values.front().text;
    names.insert(names.begin(), fmt::format("{}{} (line {})", last->name, value, last->line));
  }
  if (names.empty()) return;
  warnings.push_back(
      {"W008", fmt::format("of options that stand several times the last is read: {}",
                           fmt::join(names, ", "))});
}

void Arguments::report_unread(Warnings& warnings) const {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  std::vector<std::string> names;
  for (const Option& o : options_) {
    if (o.read) continue;
    const std::string slip = slip_of(o.name, known);
    const std::string name = slip.empty() || slip == o.name || !has_its_words(o.name, slip)
                                 ? o.name
                                 : fmt::format("{} (did you mean {}?)", o.name, slip);
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  for (const Option& o : options_) {
    const bool again = o.is_number && o.values.size() > 1 &&
                       parse_grouped_number<double>(o.values[1].text).has_value();
    if (again) names.push_back(fmt::format("{} behind {}", o.values[1].text, o.name));
  }
  warn_unread(names, warnings);
  report_nothing(warnings);
  report_repeated(warnings);
}

}  // namespace plait
