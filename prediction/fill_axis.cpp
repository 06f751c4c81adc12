#include "prediction/fill_axis.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "scenarios/overrides.h"

namespace plait {
namespace {

std::string path_of(Axis axis) { return "strategy." + std::string(name_of(axis)); }

bool is_set(Axis axis, const std::vector<Override>& overrides) {
  return std::ranges::count(overrides, path_of(axis), &Override::path) > 0;
}

/// Size of `axis` with which the mesh has as many ranks as there are devices.
std::optional<std::int64_t> filling_size(Axis axis, const WrittenSizes& sizes) {
  std::int64_t left = sizes.devices;
  for (int a = 0; a < kAxes; ++a) {
    const std::int64_t size = sizes.mesh[static_cast<Axis>(a)];
    if (static_cast<Axis>(a) == axis) continue;
    if (size < 1 || left % size != 0) return std::nullopt;
    left /= size;
  }
  return left;
}

/// True for what load_scenario throws when the axes do not multiply to the number of devices.
bool is_world_mismatch(const InputError& error) {
  return error.text().code == "S001" || error.text().code == "S002";
}

}  // namespace

std::optional<Override> filling_axis(const std::string& text, const std::string& file,
                                     const std::vector<Override>& overrides) {
  WrittenSizes sizes = written_sizes(text, file, overrides);
  std::int64_t& dp = sizes.mesh[Axis::kDp];
  dp = std::max<std::int64_t>(dp, 1);
  const bool sharded = sizes.mesh[Axis::kFsdp] > 1;
  std::vector<Axis> axes;
  if (dp > 1 || !sharded) axes.push_back(Axis::kDp);
  if (sharded) axes.push_back(Axis::kFsdp);
  for (const Axis axis : axes) {
    if (is_set(axis, overrides)) continue;
    if (const auto size = filling_size(axis, sizes)) {
      return Override{path_of(axis), std::to_string(*size)};
    }
  }
  return std::nullopt;
}

Scenario parse_filled(const ScenarioText& text, std::vector<Override> overrides,
                      std::optional<Override>& filled) {
  try {
    return parse_scenario(text.text, text.file, overrides);
  } catch (const InputError& error) {
    if (is_world_mismatch(error)) filled = filling_axis(text.text, text.file, overrides);
    if (!filled) throw;
  }
  overrides.push_back(*filled);
  return parse_scenario(text.text, text.file, overrides);
}

}  // namespace plait
