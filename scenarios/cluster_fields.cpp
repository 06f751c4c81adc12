#include <algorithm>

#include "scenarios/fields.h"
#include "scenarios/framework.h"
#include "scenarios/highest_price.h"

namespace plait {
namespace {

const Table<Slowdown>& slowdown_table() {
  static const Table<Slowdown> table(
      "cluster.slowdowns",
      {
          field("device", &Slowdown::device, Int{.min = 0}, "Index of the device.").required(),
          field("factor", &Slowdown::factor, Real{.min = 1, .max = 1e6},
                "Its kernels take so many times as long.")
              .required(),
      });
  return table;
}

const Table<Fault>& fault_table() {
  static const Table<Fault> table(
      "cluster.faults",
      {
          field("at", &Fault::at, Text{},
                "A part by its name: \"node 3: nic 2\", \"node 0: device 1\", \"pod 0 leaf 2\", "
                "\"spine 5\", \"group 1 router 0\".")
              .required(),
          field("to", &Fault::to, Text{}, "Another part: only the links between the two.")
              .otherwise("all links of `at`"),
          field("factor", &Fault::factor, Real{.min = 0, .max = 1},
                "What is left of their bandwidth; 0: they fail."),
      });
  return table;
}

const Table<OtherNodesPart>& other_nodes_table() {
  using O = OtherNodesPart;
  static const Table<O> table(
      "cluster.other_nodes",
      {
          field("nodes", &O::nodes, List{Int{.min = 0}},
                "The first and the last, both included; nodes count from 0.")
              .required(),
          field("preset", &O::preset, Text{cluster_names()},
                "A kind of node from the catalogue; the other keys change it.")
              .otherwise("the cluster's node and device"),
          field("node", &O::node, PresetChanges{&node_part_table()}, "As `cluster.node`."),
          field("device", &O::device, PresetChanges{&device_part_table()}, "As `cluster.device`."),
      });
  return table;
}

/// All NVLinks of a device together, as a bandwidth of one of them.
struct AllNvlinks {
  Amount<BytesPerSecond> amount;
  Shape shape() const { return amount.shape(); }
  void read(const Json& json, Device& into) const {
    BytesPerSecond all;
    amount.read(json, all);
    into.nvlink_link_bandwidth = all / std::max(into.nvlink_links, 1);  // 0: refused later
  }
  std::string write(const Device& d) const { return amount.write(d.nvlink_bandwidth()); }
};

template <class T>
Table<Named<T>> named_table(const std::string& name, std::vector<std::string> names,
                            const std::string& fallback, const Table<T>& changes) {
  Table<Named<T>> table("cluster." + name,
                        {field("preset", &Named<T>::preset, Text{std::move(names)},
                               "From the catalogue; the other keys change it.")
                             .otherwise(fallback)},
                        "preset");
  table.include(&Named<T>::value, changes);
  return table;
}

}  // namespace

const Table<Named<NodeSpec>>& node_part_table() {
  static const Table<Named<NodeSpec>> table =
      named_table("node", cluster_names(), "the cluster's", node_table());
  return table;
}
const Table<Named<Device>>& device_part_table() {
  static const Table<Device> whole(
      "device",
      {field_of<Device>(
           "nvlink_bandwidth", [](Device& d) -> Device& { return d; }, AllNvlinks{{.min = 1}},
           "All NVLinks together, per direction; instead of `nvlink_link_bandwidth`.")
           .otherwise("nvlink_links * nvlink_link_bandwidth")});
  static const Table<Named<Device>> table =
      named_table("device", device_names(), "the node's", device_table())
          .include(&Named<Device>::value, whole);
  return table;
}
const Table<Named<Fabric>>& fabric_part_table() {
  static const Table<Named<Fabric>> table =
      named_table("fabric", fabric_names(), "the node's", fabric_table());
  return table;
}

const Table<ClusterPart>& cluster_table() {
  using C = ClusterPart;
  static const Table<C> table(
      "cluster",
      {
          field("preset", &C::preset, Text{cluster_names()},
                "A kind of node from the catalogue; the other keys change it.")
              .otherwise("required unless `node` is given"),
          field("nodes", &C::nodes, Int{.max = 1 << 24}, "How many nodes."),
          field("devices_per_node", &C::devices_per_node, Int{.max = 4096}, "Devices in a node.")
              .otherwise("as the node has"),
          field("node", &C::node, PresetChanges{&node_part_table()}, "The node."),
          field("device", &C::device, PresetChanges{&device_part_table()}, "The device."),
          field("processor", &C::processor, PresetChanges{&device_part_table()},
                "What computes on the host of a node, for plans that put work there.")
              .otherwise("where the plan puts work there, the node's, if it names one; else none"),
          field("storage_bandwidth", &C::storage_bandwidth, Amount<BytesPerSecond>{},
                "What a node's drives read, for plans that put tensors there."),
          field("storage_write_bandwidth", &C::storage_write_bandwidth, Amount<BytesPerSecond>{},
                "What they write.")
              .otherwise("as `storage_bandwidth`"),
          field("fabric", &C::fabric, PresetChanges{&fabric_part_table()}, "What joins the nodes."),
          field("other_nodes", &C::other_nodes, List{Nested{&other_nodes_table()}},
                "Nodes of another kind on the same fabric, with as many devices and NICs."),
          field("slowdowns", &C::slowdowns, List{Nested{&slowdown_table()}}, "Slow devices."),
          field("faults", &C::faults, List{Nested{&fault_table()}},
                "Failed and slow links, NICs and switches."),
          field("price_per_device_hour", &C::price_per_device_hour,
                Real{.min = 0, .max = kHighestPrice},
                "What a device costs per hour, in a currency of your own; 0: not said."),
          field("variation", &C::variation, Real{.min = 0, .max = 2},
                "Speed of the fastest device over that of the slowest, less 1, in products and "
                "attention: ranks wait for the slowest. Not where a calibration says how fast "
                "devices are."),
          field("jitter", &C::jitter, Real{.min = 0, .max = 10},
                "Each device is slower by its own factor from 1 to 1 + jitter, on top of "
                "`variation`."),
          field("seed", &C::seed, Int{.min = 0}, "Of the jitter."),
      },
      "preset");
  return table;
}

const Table<Host>& host_table() {
  const Sourced<Amount<Seconds>> time{{.max = 1}};
  static const Table<Host> table(
      "host",
      {
          field("launch_time", &Host::launch_time, time,
                "To issue one kernel: interpreter, dispatch, autograd and launch. An op starts no "
                "earlier than it was issued."),
          field("collective_time", &Host::collective_time, time,
                "To issue one collective, send or receive.")
              .otherwise("launch_time"),
          field("linear_calls", &Host::linear_calls, Real{.min = 0, .max = 1000},
                "What the code of a linear layer costs in each pass, in times of launch_time and "
                "besides its kernels; twice that where its product is in 8 or 4 bits."),
          field("graphs", &Host::graphs, Flag{},
                "Each pass of a layer is one CUDA graph, issued as one kernel is."),
          field("routing_graph", &Host::routing_graph, Flag{},
                "The choice of experts is one CUDA graph, as with Megatron-LM's --cuda-graph-scope "
                "moe_router moe_preprocess."),
          field("waits_for_messages", &Host::waits_for_messages, Flag{},
                "After each send and receive between stages it waits until its device has done "
                "everything, as Megatron-LM does."),
          field("waits_for_routing", &Host::waits_for_routing, Flag{},
                "After each choice of experts it waits to be told how many tokens each has, as "
                "Megatron-LM does; with workload.capacity_factor it knows."),
          field("waits_for_lengths", &Host::waits_for_lengths, Flag{},
                "Before each forward pass of attention it waits for the op in front: to be told "
                "how long documents are, for flash_attn_varlen_func the longest one, without "
                "fused attention each for its part of the mask. Both as Aleph Alpha's Scaling "
                "does."),
          field("waits_for_passes", &Host::waits_for_passes, Flag{},
                "After each pass of a layer, the embedding or the head it waits until its device "
                "has done everything, as a profiler does that measures them one by one.")
              .silent_by_default(),
          field("blocking", &Host::blocking, Flag{},
                "Behind each kernel it waits until that has run, as with CUDA_LAUNCH_BLOCKING=1."),
      },
      "launch_time");
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<ScenarioParts>& scenario_table() {
  using S = ScenarioParts;
  static const Table<S> table(
      "scenario",
      {
          field("$schema", &S::schema, Text{}, "For editors; not read."),
          field("comment", &S::comment, Text{}, "What it shows, and where its numbers are from."),
          field("name", &S::name, Text{}, "What reports call it.").otherwise("the file's name"),
          field("framework", &S::framework, Text{framework_names()},
                "Defaults of a training framework: overlap, buckets, element types, kernels. What "
                "the scenario says itself wins.")
              .otherwise("none"),
          field("model", &S::model, PresetChanges{&model_part_table()},
                "What is trained or served.")
              .required(),
          field("workload", &S::workload, Nested{&workload_table()}, "One optimizer step.")
              .otherwise("required, unless `serving` is given"),
          field("training", &S::training, Nested{&training_table()},
                "The whole of which `workload` is a step: days, failures, checkpoints.")
              .otherwise("none"),
          field("serving", &S::serving, Nested{&serving_table()},
                "Requests to be served, and how, for `plait serve`; instead of `workload`.")
              .otherwise("none"),
          field("strategy", &S::strategy, Nested{&strategy_table()}, "How the work is split."),
          field(
              "kernels", &S::kernels, Nested{&kernels_table()},
              "Which ops the framework runs as one kernel, and which as the chain of kernels that "
              "its code spells out.")
              .otherwise("all fused"),
          field("memory", &S::memory, Nested{&memory_table()},
                "Device memory that the framework takes beyond the plan's tensors."),
          field("cluster", &S::cluster, Nested{&cluster_table()}, "The machine.").required(),
          field("placement", &S::placement, Nested{&placement_table()},
                "Where the ranks of the mesh run; default: rank r on device r, tp inside of nodes "
                "and pp across."),
          field("host", &S::host, Nested{&host_table()},
                "The thread that issues a rank's ops to its device, one after the other."),
          field("calibration", &S::calibration, Text{},
                "Path of what `plait calibrate` fitted to measurements of the device, relative to "
                "this file; its kernels then take what they took there.")
              .otherwise("none: data sheets"),
          field("network", &S::network, Text{{"analytic", "flow"}},
                "analytic: each message takes its time by itself. flow: what is on the network at "
                "the same time shares its links. Parts of a GPU always take the latter."),
          field("interference", &S::interference, Flag{},
                "Collectives slow down the kernels beside them by the multiprocessors that they "
                "hold. A search is faster without, as its bounds do not count it."),
      });
  return table;
}

const Shape& scenario_shape() {
  static const Shape shape = scenario_table().shape();
  return shape;
}

}  // namespace plait
