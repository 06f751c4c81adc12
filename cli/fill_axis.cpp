#include "cli/fill_axis.h"

#include <charconv>

namespace plait {
namespace {

std::string path_of(Axis axis) { return "strategy." + std::string(name_of(axis)); }

/// Sets the axis that `change` names, if it names one.
void apply(const Override& change, Mesh& mesh) {
  for (const Axis axis : {Axis::kPp, Axis::kDp, Axis::kFsdp, Axis::kTp}) {
    if (change.first != path_of(axis)) continue;
    const std::string& text = change.second;
    std::from_chars(text.data(), text.data() + text.size(), mesh[axis]);
  }
}

}  // namespace

std::optional<Override> filling_axis(const std::string& text, const std::string& file,
                                     const std::vector<Override>& overrides) {
  std::vector<Override> elsewhere;
  for (const Override& o : overrides) {
    if (!o.first.starts_with("strategy.")) elsewhere.push_back(o);
  }
  const Scenario base = parse_scenario(text, file, elsewhere);
  const Axis axis = base.strategy.mesh[Axis::kFsdp] > 1 ? Axis::kFsdp : Axis::kDp;
  Mesh mesh = base.strategy.mesh;
  for (const Override& o : overrides) {
    if (o.first == path_of(axis)) return std::nullopt;
    apply(o, mesh);
  }
  mesh[axis] = 1;
  std::int64_t others = 1;
  const std::int64_t world = base.cluster.world_size();
  for (const std::int64_t size : mesh.size) {
    if (size < 1 || size > world) return std::nullopt;
    others *= size;
    if (others > world) return std::nullopt;
  }
  if (world % others != 0) return std::nullopt;
  return Override{path_of(axis), std::to_string(world / others)};
}

}  // namespace plait
