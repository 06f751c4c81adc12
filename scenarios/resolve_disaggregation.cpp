#include <fmt/format.h>

#include <algorithm>

#include "scenarios/resolve.h"

namespace plait {
namespace {

/// The two pools, each with its key.
struct NamedPool {
  const char* key;
  EnginePool& pool;
  std::int64_t of_each() const { return pool.tp * pool.pp; }
};

[[noreturn]] void refuse_pools(const std::string& problem, const std::string& path,
                               const std::string& cure) {
  refuse_field("S185", problem, path,
               "tp * pp * dp of serving.disaggregated.prefill and of decode that add up to the "
               "devices of the cluster",
               cure,
               {"serving.disaggregated.prefill.tp", "serving.disaggregated.prefill.pp",
                "serving.disaggregated.prefill.dp", "serving.disaggregated.decode.tp",
                "serving.disaggregated.decode.pp", "serving.disaggregated.decode.dp",
                "cluster.nodes", "cluster.devices_per_node", "cluster.preset"});
}

/// Instances of `pool`, on what the other one leaves.
void fill_instances(const NamedPool& pool, std::int64_t devices, std::int64_t others) {
  const std::int64_t left = devices - others;
  if (left >= pool.of_each() && left % pool.of_each() == 0) {
    pool.pool.dp = left / pool.of_each();
    return;
  }
  refuse_pools(fmt::format("the {} instances have {} of {} devices each, and {} are left for them",
                           pool.key, pool.of_each(), devices, std::max<std::int64_t>(left, 0)),
               fmt::format("serving.disaggregated.{}", pool.key),
               "change tp, pp or dp of a pool, or cluster.nodes");
}

void fill_devices(const NamedPool& prefill, const NamedPool& decode, std::int64_t devices) {
  if (prefill.pool.dp == 0 && decode.pool.dp == 0) {
    refuse_pools("neither pool says how many instances it has", "serving.disaggregated",
                 "set serving.disaggregated.prefill.dp; the decode instances fill the rest");
  }
  if (decode.pool.dp == 0) return fill_instances(decode, devices, prefill.pool.devices());
  if (prefill.pool.dp == 0) return fill_instances(prefill, devices, decode.pool.devices());
  const std::int64_t both = prefill.pool.devices() + decode.pool.devices();
  if (both == devices) return;
  refuse_pools(fmt::format("the pools have {} + {} = {} devices and the cluster {}",
                           prefill.pool.devices(), decode.pool.devices(), both, devices),
               "serving.disaggregated", "leave out one dp, which then fills the devices");
}

}  // namespace

void resolve_disaggregation(const Json& root, std::int64_t devices, Serving& s) {
  const Json* json = root.find_path("serving.disaggregated");
  if (json == nullptr) return;
  for (const char* key : {"strategy", "placement"}) {
    const Json* part = root.find(key);
    if (part == nullptr || (part->is(Json::Kind::kObject) && part->children().empty())) continue;
    refuse_field("S186", fmt::format("{} beside serving.disaggregated", key), key,
                 "tp, pp and dp of each pool; ranks in order, the prefill instances first",
                 fmt::format("remove {}", key), {"serving.disaggregated"});
  }
  const NamedPool pools[] = {{"prefill", s.disaggregation.prefill},
                             {"decode", s.disaggregation.decode}};
  for (const NamedPool& p : pools) {
    p.pool.limits = s.limits;
    const Json* engine = root.find_path(fmt::format("serving.disaggregated.{}.engine", p.key));
    if (engine != nullptr) engine_table().read(*engine, p.pool.limits);
  }
  fill_devices(pools[0], pools[1], devices);
}

}  // namespace plait
