#include "prediction/fill_axis.h"

#include <algorithm>

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

}  // namespace plait
