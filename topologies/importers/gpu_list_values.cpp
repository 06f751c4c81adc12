// The values in the lists of nvidia-smi.

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/split.h"
#include "topologies/importers/gpu_list_forms.h"

namespace plait {

std::optional<double> number_in(std::string_view text, std::string_view unit, const Where& where) {
  text = trimmed(text);
  const bool number = !text.empty() && text != "-" &&
                      std::string_view("0123456789+-.").find(text[0]) != std::string_view::npos;
  if (!number) return std::nullopt;
  const std::size_t behind = text.ends_with(unit) ? unit.size() : 0;
  const auto value = parse_number<double>(trimmed(text.substr(0, text.size() - behind)));
  constexpr double kMost = 1e9;
  if (value && *value >= 0 && *value < kMost) return value;
  throw InputError({.code = "T014",
                    .problem = fmt::format("\"{}\" is no number{}", text,
                                           unit.empty() ? "" : fmt::format(" of {}", unit)),
                    .where = where,
                    .expected = unit.empty() ? "a number" : fmt::format("a number of {}", unit),
                    .cure = "paste the line again as nvidia-smi printed it"});
}

std::optional<Bytes> mebibytes_in(std::string_view text, const Where& where) {
  const std::optional<double> value = number_in(text, "MiB", where);
  if (!value || *value <= 0) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*value * 1024 * 1024));
}

std::optional<Watts> watts_in(std::string_view text, const Where& where) {
  const std::optional<double> value = number_in(text, "W", where);
  if (!value || *value <= 0) return std::nullopt;
  return Watts(*value);
}

int count_in(std::string_view text, const Where& where) {
  return static_cast<int>(number_in(text, "x", where).value_or(0));
}

void limit(std::optional<Watts>& so_far, std::optional<Watts> other) {
  if (!so_far || (other && *other < *so_far)) so_far = other ? other : so_far;
}

}  // namespace plait
