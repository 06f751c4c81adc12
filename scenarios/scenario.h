#pragma once
// scenario.json -> Scenario. One JSON file says what is trained or served, how it is split and on
// which machine; parts may be named (presets, catalogue) or written out. The format is one table of
// fields (scenarios/*_fields.cpp) that drives the reader, the defaults, the JSON Schema and the
// reference page.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/override.h"
#include "core/warning.h"
#include "model/kernels.h"
#include "model/model.h"
#include "plan/framework_memory.h"
#include "plan/requests.h"
#include "plan/strategy.h"
#include "plan/training.h"
#include "plan/workload.h"
#include "topologies/cluster.h"
#include "topologies/host.h"

namespace plait {

class JsonDocument;

/// How ranks are placed, whatever the layout; at most one of the two is given.
struct PlacementRule {
  std::vector<Axis> order = {};  // from the inside out
  std::int64_t stages_per_node = 0;
  bool any() const { return !order.empty() || stages_per_node > 0; }
  bool operator==(const PlacementRule&) const = default;
};

struct Scenario {
  std::string name;
  std::string comment;  // what it shows, where its numbers come from
  std::string source_file;
  std::string framework;  // whose profile it takes; "": none
  Model model;
  Workload workload;                 // training; where `serving` is not given
  std::optional<Serving> serving;    // what `plait serve` runs
  std::optional<Training> training;  // of which the workload is a step
  Strategy strategy;
  /// Of a search: sizes ("strategy.tp") of which one above 1 ends strategy.data.overlap, as the
  /// framework has it.
  std::vector<std::string> overlap_ends_with;
  Kernels kernels;  // how the framework runs ops
  FrameworkMemory memory;
  Cluster cluster;
  Device processor;                        // of each node; no name: none is described
  BytesPerSecond storage_bandwidth;        // of each node's drives
  BytesPerSecond storage_write_bandwidth;  // 0: as they read
  double price_per_device_hour = 0;        // in the user's currency; 0: not said
  PlacementRule placement_rule;            // which it follows, and each layout of a search
  std::vector<std::int64_t> placement;     // device of each mesh rank; empty: rank r on device r
  std::string placement_words;  // "pp, tp, dp from the inside out"; "": rank r on device r
  Host host;                    // issues the ops of each rank
  std::string calibration;      // path of a calibration of the device; "": none
  bool flow_network = false;    // messages share links
  bool interference = true;     // collectives slow kernels down
  Warnings warnings;            // ignored keys of an imported config.json, ...
  std::string canonical_json;   // resolved, keys sorted: what sha256 and reports quote
  std::shared_ptr<const JsonDocument> source;  // the text as read, for `locate`
  std::vector<Override> overrides;             // that are in it
};

/// Reads and resolves a scenario file ("-": stdin). Throws InputError (bad content, with its place)
/// or EnvironmentError (cannot be read). Overrides are applied over the file before it is read, and
/// checked like its own fields.
Scenario load_scenario(const std::string& path, const std::vector<Override>& overrides = {});

/// The same from text; `file` is what messages call it.
Scenario parse_scenario(const std::string& text, const std::string& file,
                        const std::vector<Override>& overrides = {});

/// An error that names only a JSON path ("strategy.tp"), as make_plan throws it, with its place
/// added: the override that gave this field, or else one of the other fields that it is about,
/// which becomes the path where that is of a section; where there is none, file, line and column of
/// the path in the scenario's source.
InputError locate(const InputError& error, const Scenario& scenario);

/// Throws InputError S065 where the scenario serves: `plait serve` is for such.
void require_training(const Scenario& scenario);

/// Throws InputError S066 where the scenario trains: `plait run` is for such.
void require_serving(const Scenario& scenario);

/// JSON Schema (draft-07) of scenario files.
std::string scenario_schema();

/// The reference of scenario files, in Markdown (docs/scenario.md).
std::string scenario_reference();

}  // namespace plait
