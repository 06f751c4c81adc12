#pragma once
// How other programs say what a scenario says. A dialect writes a resolved scenario as the settings
// of one program, at one version, and lists what these cannot say; some dialects are read back.
// What a dialect says of a scenario it reads back unchanged, unless a base that serves says
// otherwise where the settings are silent: a property test holds it to that.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/warning.h"
#include "scenarios/scenario.h"

namespace plait {

enum class Dialect : std::uint8_t {
  kMegatronCore,
  kDeepSpeed,
  kTorchtitan,
  kAccelerate,
  kVllm,
  kPeft,
  kLlamaCpp,
  kOllama
};
enum class Launcher : std::uint8_t { kNone, kTorchrun, kSlurm };

class ExportDraft;
struct Imported;

struct DialectRow {
  Dialect dialect;
  std::string_view name;
  std::string_view suffix;  // of its files, without the dot
  std::string_view target;  // the program, and the version whose names are used
  Imported (*read)(const std::string& text, const std::string& file);  // nullptr: only written
  void (*write)(ExportDraft& draft);                                   // nullptr: only read
  bool launches = false;                                               // torchrun can start it
  bool trains = true;                                                  // or it only serves
  bool serves = false;

  constexpr bool reads() const { return read != nullptr; }
  constexpr bool writes() const { return write != nullptr; }
};
std::span<const DialectRow> dialects();
const DialectRow& row_of(Dialect dialect);

/// One setting, as its format writes it: {"parallelism", "tensor_parallel_degree", "8"} or
/// {"", "--bf16", ""}. In JSON, TOML and YAML the value is a literal of that format.
struct Setting {
  std::string section, key, value;
};

struct Settings {
  Dialect dialect;
  std::string scenario;  // its name
  std::vector<Setting> settings;
  std::vector<std::string> said;    // fields of the scenario, "strategy.tp", that follow from these
  std::vector<std::string> unsaid;  // fields that do not, where they are not as by default
  std::vector<std::string> asked;   // what the program wants beside them, and no scenario says
  std::int64_t hosts = 1, devices_per_host = 1;  // for launchers
};

/// Throws InputError D007 where a launcher is to start what it cannot, D009 where the program does
/// not do what the scenario says: serve, train, or copy layers to devices.
Settings settings_of(const Scenario& scenario, Dialect dialect, Launcher launcher);

/// The settings as a file of the program, or as the script that starts it. Ends with a newline.
std::string render(const Settings& settings, Launcher launcher);

/// One field that a file says.
struct Given {
  std::string path;   // "strategy.tp"
  std::string value;  // JSON text
  int line = 0;       // in the file; 0: it follows from what is absent
  /// What the program does where the file says nothing: over a base that serves, what that states
  /// holds.
  bool by_default = false;
};

/// What a file says of a scenario.
struct Imported {
  std::vector<Given> given;
  void give(std::string path, std::string json, int line = 0) {
    given.push_back({std::move(path), std::move(json), line});
  }
  void give_default(std::string path, std::string json) {
    given.push_back({std::move(path), std::move(json), 0, true});
  }
  /// Which axis has the ranks that the file does not count: dp, or fsdp.
  bool rest_shards = false;
  /// Or it says nothing of ranks, and those are the base's.
  bool keeps_ranks = false;
  /// "pp", "tp": the axis over all devices that there are, where neither the file nor the base says
  /// how many; "": none.
  std::string takes_rest = {};
  /// A server's settings: of a scenario that serves, unless a base trains. Then what they say of
  /// serving alone is left out where it is the program's default, and else refused (D008). It is
  /// one replica where nothing is said of them, and takes no more devices than its ranks are.
  bool serves = false;
  /// A model that it names and that is no preset; "": none.
  std::string unknown_model = {};
  /// The preset that it names, where the base has no model: adapters fit others of its shape; "":
  /// none.
  std::string adapted_model = {};
  /// A profile of scenarios/framework.h, where the base is no whole scenario and names none (a
  /// whole one is said to name none); "": none.
  std::string framework;
  /// A bucket of gradients by the number of replicas, the larger of the two; 0: not so.
  struct Bucket {
    Bytes least = Bytes(0), for_each_replica = Bytes(0);
  };
  Bucket bucket = {};
  /// Micro-batches that a replica adds up, as DeepSpeed's gradient_accumulation_steps; 0: not said.
  /// By default: where neither the file nor the base has a batch.
  Given accumulation = {};
  /// A batch may be several times as large as those steps make it (torchtitan's global_batch_size).
  bool repeats_steps = false;
  /// Processes that a launcher starts, where it says neither nodes nor GPUs of each; no value: not
  /// said.
  Given started = {};
  /// Of the training, in steps: training.tokens are those of so many batches.
  std::optional<std::int64_t> steps = {};
  /// Rows of the embedding by the file's tokenizer, where neither it nor the base says how many; 0:
  /// not known.
  std::int64_t tokenizer_vocab = 0;
  /// Adapters of all linear layers that the model has: workload.lora.targets are these.
  bool adapts_all_linear = false;
  /// Not one option or key of the file is the program's.
  bool foreign = false;
  /// What it says where weights are of a type, which the file leaves to a launcher.
  struct OfType {
    std::string weights;  // "bf16"
    std::vector<Given> given;
  };
  std::vector<OfType> by_type = {};
  Warnings warnings;  // W007 options that were not read, W008 readings that are near
};

/// W007, if there are any.
void warn_unread(const std::vector<std::string>& names, Warnings& warnings);

/// Throws InputError D002 to D006 with the line, D010 where the file is no such file, or J0xx.
Imported read_settings(const std::string& text, const std::string& file, Dialect dialect);

/// The dialect that `text` is in. Throws InputError D001.
Dialect detect_dialect(const std::string& text, const std::string& file);

struct BaseScenario {
  std::string text;  // a scenario; "": none
  std::string file;
};
/// The scenario that the file and, where it is silent, `base` describe, as JSON; what it says has
/// been checked by parse_scenario. Paths that `base` names relative to itself become relative to
/// `folder`. `warnings`, where given, gets W008 for devices of the base that a server does not
/// take, and W013 for kernels that the file's program does not have. Throws InputError D005 naming
/// all that neither says, D008, and what parse_scenario throws.
std::string scenario_json(const Imported& imported, const std::string& file,
                          const BaseScenario& base, const std::string& folder,
                          Warnings* warnings = nullptr);

}  // namespace plait
