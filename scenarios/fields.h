#pragma once
// The scenario format: structs that mirror the JSON, and their tables of fields. A part that can be
// named (model, node, device, fabric) is a preset with changes: {"preset": "llama-3.1-8b",
// "layers": 4}; a text alone is the preset. Numbers that follow from others when absent (dp, for
// one) are 0 or -1 here and are worked out in resolve.cpp.

#include <string>
#include <vector>

#include "core/fields.h"
#include "model/kernels.h"
#include "model/model.h"
#include "plan/framework_memory.h"
#include "plan/requests.h"
#include "plan/strategy.h"
#include "plan/training.h"
#include "plan/workload.h"
#include "scenarios/placement.h"
#include "topologies/catalogue.h"
#include "topologies/host.h"
#include "topologies/variation.h"

namespace plait {

/// A named value and the changes to it.
template <class T>
struct Named {
  std::string preset;
  T value;
};

struct ModelPart {
  std::string preset;
  std::string hf_config;  // path of a config.json, relative to the scenario file
  Model model;
};

struct StrategyPart {
  // dp 0: what is left of the devices
  std::int64_t pp = 1, dp = 0, fsdp = 1, cp = 1, ep = 1, tp = 1;
  std::vector<std::int64_t> stage_tp;  // of every stage; empty: tp
  AxisSet expert_axes = Axis::kEp;
  std::int64_t expert_tp = 1;
  ExpertGates expert_gates = ExpertGates::kResults;
  ExpertDispatch expert_dispatch = ExpertDispatch::kAllToAll;
  bool sequence_parallel = false;
  int zero_stage = -1;  // -1: 3 where fsdp > 1, else 0
  bool keep_weight_shard = false;
  PipelineOptions pipeline;
  RecomputeOptions recompute;
  DataParallelOptions data;
  FsdpOptions fsdp_options;
  ContextOptions context;
  TensorOptions tensor;
  ZeroPlusPlusOptions zero_plus_plus;
  OffloadOptions offload;
  ParameterServerOptions parameter_server;
};

struct OtherNodesPart {
  std::vector<std::int64_t> nodes;  // the first and the last
  std::string preset;
  Named<NodeSpec> node;
  Named<Device> device;
};

struct ClusterPart {
  std::string preset;
  std::int64_t nodes = 1;
  std::int64_t devices_per_node = 0;  // 0: as the node has
  Named<NodeSpec> node;
  Named<Device> device;
  Named<Device> processor;
  BytesPerSecond storage_bandwidth;
  BytesPerSecond storage_write_bandwidth;
  Named<Fabric> fabric;
  std::vector<OtherNodesPart> other_nodes;
  std::vector<Slowdown> slowdowns;
  std::vector<Fault> faults;
  double price_per_device_hour = 0;
  double variation = kDeviceVariation;
  double jitter = 0;
  std::int64_t seed = 1;
};

struct ScenarioParts {
  std::string schema;
  std::string comment;
  std::string name;
  std::string framework;  // a profile (scenarios/framework.h); "": none
  ModelPart model;
  Workload workload;
  Training training;
  Serving serving;
  StrategyPart strategy;
  Kernels kernels;
  FrameworkMemory memory;
  ClusterPart cluster;
  PlacementPart placement;
  Host host;
  std::string calibration;  // path, relative to the scenario file
  std::string network = "analytic";
  bool interference = true;
};

/// Members of a part whose base value comes later: what is required is checked then.
template <class T>
struct PresetChanges {
  const Table<T>* table;
  Shape shape() const {
    Shape out = table->shape();
    for (Property& p : out.properties) {
      if (p.need != Need::kRequired) continue;
      p.need = Need::kDescribed;
      p.fallback = "as the preset; required without one";
    }
    return out;
  }
  void read(const Json& json, T& into) const { table->read(json, into, Base::kGiven); }
  std::string write(const T& v) const { return table->write(v); }
};
template <class T>
PresetChanges(const Table<T>*) -> PresetChanges<T>;

const Table<Model>& model_table();
const Table<ModelPart>& model_part_table();
const Table<Workload>& workload_table();
const Table<Training>& training_table();
const Table<EngineLimits>& engine_table();
const Table<Serving>& serving_table();
const Table<StrategyPart>& strategy_table();
const Table<Kernels>& kernels_table();
const Table<FrameworkMemory>& memory_table();
const Table<Named<NodeSpec>>& node_part_table();
const Table<Named<Device>>& device_part_table();
const Table<Named<Fabric>>& fabric_part_table();
const Table<ClusterPart>& cluster_table();
const Table<Host>& host_table();
const Table<ScenarioParts>& scenario_table();
/// Its shape, made once: it has a few hundred fields.
const Shape& scenario_shape();

}  // namespace plait
