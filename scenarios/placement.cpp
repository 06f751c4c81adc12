#include "scenarios/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/refusal.h"

namespace plait {
namespace {

using Devices = std::vector<std::int64_t>;

[[noreturn]] void refuse_placement(const char* code, const char* key, std::string problem,
                                   std::string expected, std::string cure,
                                   std::vector<std::string> others = fields_of_sizes()) {
  throw refusal(code, std::move(problem),
                fmt::format("placement{}{}", *key == '\0' ? "" : ".", key), std::move(expected),
                std::move(cure), std::move(others));
}

void check_order(const std::vector<Axis>& order, const Mesh& mesh) {
  for (int a = 0; a < kAxes; ++a) {
    const auto axis = static_cast<Axis>(a);
    const auto times = std::ranges::count(order, axis);
    if (times == 1 || (times == 0 && mesh[axis] == 1)) continue;
    refuse_placement("S006", "order",
                     fmt::format("placement.order names the axis {} {}", name_of(axis),
                                 times == 0 ? "not at all" : "more than once"),
                     "each axis of more than one rank, once",
                     times == 0 ? fmt::format("add \"{}\"", name_of(axis)) : "name it once");
  }
}

/// Ranks that exchange heads are neighbours within cp where the order names cp alone, and those
/// that split an expert within tp: a scenario says how many ranks share a sequence or split layers,
/// and strategy.context and strategy.expert_tp how.
std::vector<Axis> with_inner_axes(std::vector<Axis> order) {
  for (const auto& [outer, inner] :
       {std::pair{Axis::kCp, Axis::kUlysses}, std::pair{Axis::kTp, Axis::kEtp}}) {
    const auto at = std::ranges::find(order, outer);
    if (at != order.end() && std::ranges::find(order, inner) == order.end()) {
      order.insert(at, inner);
    }
  }
  return order;
}

Devices in_order(const std::vector<Axis>& named, const Mesh& mesh) {
  const std::vector<Axis> order = with_inner_axes(named);
  check_order(order, mesh);
  Mesh::Coordinates stride{};  // over devices; axes of size 1 do not matter
  std::int64_t next = 1;
  for (const Axis axis : order) {
    stride[static_cast<std::size_t>(axis)] = next;
    next *= mesh[axis];
  }
  Devices devices(static_cast<std::size_t>(mesh.world_size()));
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const Mesh::Coordinates at = mesh.coordinates(static_cast<std::int64_t>(rank));
    for (std::size_t a = 0; a < kAxes; ++a) devices[rank] += at[a] * stride[a];
  }
  return devices;
}

Choice<Axis> axis_names() {
  Choice<Axis> out;
  for (int a = 0; a < kAxes; ++a) {
    out.values.emplace_back(name_of(static_cast<Axis>(a)), static_cast<Axis>(a));
  }
  return out;
}

/// Whether nodes can hold `stages` stages each, with the tp groups inside.
bool can_share(std::int64_t stages, const Mesh& mesh, std::int64_t per_node) {
  if (per_node % stages != 0 || mesh[Axis::kPp] % stages != 0) return false;
  const std::int64_t of_a_stage = per_node / stages;
  return of_a_stage % mesh.size_of(kTensorAxes) == 0 && mesh.stride(Axis::kPp) % of_a_stage == 0;
}

void check_stages(std::int64_t stages, const Mesh& mesh, std::int64_t per_node) {
  if (can_share(stages, mesh, per_node)) return;
  std::vector<std::int64_t> possible;
  for (std::int64_t s = 1; s <= per_node && s <= mesh[Axis::kPp]; ++s) {
    if (can_share(s, mesh, per_node)) possible.push_back(s);
  }
  refuse_placement(
      "S007", "stages_per_node",
      fmt::format("{} stages of tp {} cannot share each node of {} devices evenly, with pp {} "
                  "and {} ranks in a stage",
                  stages, mesh.size_of(kTensorAxes), per_node, mesh[Axis::kPp],
                  mesh.stride(Axis::kPp)),
      possible.empty() ? "" : fmt::format("one of {}", fmt::join(possible, ", ")),
      possible.empty() ? "use placement.order, or a tp that divides the node"
                       : fmt::format("set placement.stages_per_node to {}", possible.back()));
}

Devices by_stages(std::int64_t stages, const Mesh& mesh, std::int64_t per_node) {
  check_stages(stages, mesh, per_node);
  const std::int64_t tp = mesh.size_of(kTensorAxes), ranks = mesh.stride(Axis::kPp);
  const std::int64_t in_node = per_node / stages / tp;  // data-parallel ranks of a stage
  const std::int64_t nodes = ranks / tp / in_node;      // that hold the same stages
  Devices devices;
  for (std::int64_t rank = 0; rank < mesh.world_size(); ++rank) {
    const std::int64_t stage = rank / ranks, data = rank % ranks / tp;
    const std::int64_t node = data / in_node + nodes * (stage / stages);
    const std::int64_t place = rank % tp + tp * (stage % stages + stages * (data % in_node));
    devices.push_back(node * per_node + place);
  }
  return devices;
}

Devices by_map(const Devices& map, std::int64_t world_size) {
  const std::string expected = fmt::format("each device from 0 to {}, once", world_size - 1);
  if (static_cast<std::int64_t>(map.size()) != world_size) {
    refuse_placement(
        "S008", "map",
        fmt::format("placement.map has {} entries for {} ranks", map.size(), world_size), expected,
        "write one device for each rank");
  }
  std::vector<bool> taken(map.size(), false);
  for (const std::int64_t device : map) {
    const bool there = device < world_size;
    if (there && !taken[static_cast<std::size_t>(device)]) {
      taken[static_cast<std::size_t>(device)] = true;
      continue;
    }
    refuse_placement("S008", "map",
                     fmt::format("placement.map names the device {} {}", device,
                                 there ? "twice" : "that is not there"),
                     expected, "write each device once");
  }
  return map;
}

}  // namespace

const Table<PlacementPart>& placement_table() {
  using P = PlacementPart;
  static const Table<P> table(
      "placement",
      {
          field("order", &P::order, List{axis_names()},
                "Mesh axes from the innermost (neighbouring devices) to the outermost.")
              .otherwise("tp, ep, cp, fsdp, dp, pp"),
          field("map", &P::map, List{Int{.min = 0}}, "Device of each rank.").otherwise("none"),
          field("stages_per_node", &P::stages_per_node, Int{.max = 4096},
                "So many neighbouring pipeline stages share each node: tp inside, then the stages, "
                "then data-parallel ranks.")
              .otherwise("as the order has it"),
      });
  return table;
}

Placement resolve_placement(const PlacementPart& part, const Mesh& mesh,
                            std::int64_t devices_per_node, std::optional<std::int64_t> ranks) {
  const bool order = !part.order.empty(), map = !part.map.empty(),
             stages = part.stages_per_node > 0;
  if (int{order} + int{map} + int{stages} > 1) {
    refuse_placement("S009", "", "the placement is given in more than one way",
                     "one of order, map and stages_per_node", "remove the others",
                     {"placement.order", "placement.map", "placement.stages_per_node"});
  }
  if (ranks && (order || stages)) {
    refuse_placement("S053", order ? "order" : "stages_per_node",
                     "stages of different tensor-parallel degrees are placed by a map alone",
                     "placement.map with strategy.stage_tp", "name the device of every rank",
                     {"strategy.stage_tp"});
  }
  Placement out;
  if (order) {
    out.devices = in_order(part.order, mesh);
    std::vector<std::string_view> names;
    for (const Axis a : part.order) names.push_back(name_of(a));
    out.words = fmt::format("{} from the inside out", fmt::join(names, ", "));
  } else if (map) {
    out.devices = by_map(part.map, ranks.value_or(mesh.world_size()));
    out.words = "by a map";
  } else if (stages) {
    out.devices = by_stages(part.stages_per_node, mesh, devices_per_node);
    out.words = fmt::format("{} stages per node", part.stages_per_node);
  }
  if (std::ranges::is_sorted(out.devices)) out = {};
  return out;
}

}  // namespace plait
