#include "core/vary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <regex>

#include "core/error.h"

namespace plait {
namespace {

constexpr std::size_t kMostCombinations = 1'000'000;

[[noreturn]] void refuse(const std::string& text, const std::string& problem) {
  throw InputError(
      {.code = "G004",
       .problem = fmt::format("-L {}: {}", text, problem),
       .expected = "path=a,b,c or a range lo-hi, lo-hi+step, lo-hi*factor, with a unit behind it",
       .cure = "for example -L strategy.tp=1,2,4,8 or -L strategy.tp=1-8*2"});
}

/// Pieces between commas that stand outside of quotes and brackets.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && !quoted && depth == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// Appends the values that `value` stands for: itself, or the numbers of a range, each with the
/// unit behind it.
void expand(const std::string& text, const std::string& value, std::vector<std::string>& out) {
  static const std::regex kRange(
      R"((\d{1,12})-(\d{1,12})(?:([+*])(\d{1,12}))?(\s*[A-Za-z][A-Za-z/%]*)?)");
  std::smatch m;
  if (!std::regex_match(value, m, kRange)) {
    out.push_back(value);
    return;
  }
  const std::int64_t lo = std::atoll(m.str(1).c_str()), hi = std::atoll(m.str(2).c_str());
  const std::int64_t step = m[4].matched ? std::atoll(m.str(4).c_str()) : 1;
  const bool factor = m.str(3) == "*";
  if (lo > hi) refuse(text, fmt::format("the range {} is empty", value));
  if (step < (factor ? 2 : 1) || (factor && lo == 0)) {
    refuse(text, fmt::format("the range {} never ends", value));
  }
  for (std::int64_t v = lo; v <= hi; v = factor ? v * step : v + step) {
    if (out.size() >= kMostCombinations) refuse(text, "more than a million values");
    out.push_back(fmt::format("{}{}", v, m.str(5)));
    if (factor && v > hi / step) break;
  }
}

}  // namespace

Override split_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError({.code = "G003",
                      .problem = fmt::format("'{}' assigns nothing", text),
                      .expected = "path=value",
                      .cure = "for example --set strategy.tp=4"});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Variation parse_variation(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse(text, "no path and values");
  Variation v;
  v.path = text.substr(0, equals);
  for (const std::string& value : split_values(text.substr(equals + 1))) {
    if (value.empty()) refuse(text, "an empty value");
    expand(text, value, v.values);
  }
  return v;
}

std::string short_name(const Override& set) {
  return set.path.substr(set.path.rfind('.') + 1) + "=" + set.value;
}

std::string label_of(const Assignments& sets) {
  const auto last = [](const std::string& path) { return path.rfind('.') + 1; };  // 0: no dot
  std::string out;
  for (const Override& set : sets) {
    const std::string& path = set.path;
    const std::string word = path.substr(last(path));
    const auto alike = std::ranges::count_if(
        sets, [&](const Override& other) { return other.path.substr(last(other.path)) == word; });
    const std::size_t dot = last(path);
    const bool two = alike > 1 && dot > 1;
    out += (out.empty() ? "" : " ") +
           (two ? path.substr(path.rfind('.', dot - 2) + 1) + "=" + set.value : short_name(set));
  }
  return out;
}

std::string set_options(const Assignments& sets) {
  std::vector<std::string> out;
  for (const Override& set : sets) {
    // A shell takes quotation marks away, and an object in braces apart.
    const char* mark = set.value.find('"') != std::string::npos ? "'" : "";
    out.push_back(fmt::format("--set {}={}{}{}", set.path, mark, set.value, mark));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

Assignments outer_first(Assignments sets) {
  std::ranges::stable_sort(sets, {},
                           [](const Override& set) { return std::ranges::count(set.path, '.'); });
  return sets;
}

std::vector<Assignments> combinations(const std::vector<Variation>& variations) {
  std::vector<Assignments> out(1);
  for (const Variation& v : variations) {
    if (out.size() * v.values.size() > kMostCombinations) {
      throw InputError({.code = "G005",
                        .problem = "the -L options make more than a million combinations",
                        .cure = "vary fewer knobs at a time"});
    }
    std::vector<Assignments> longer;
    for (const Assignments& prefix : out) {
      for (const std::string& value : v.values) {
        longer.push_back(prefix);
        longer.back().push_back({v.path, value, v.option});
      }
    }
    out = std::move(longer);
  }
  return out;
}

}  // namespace plait
