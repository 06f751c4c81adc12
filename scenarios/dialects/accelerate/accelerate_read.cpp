#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/capped_product.h"
#include "core/json.h"
#include "core/spelling.h"
#include "scenarios/dialects/accelerate/accelerate.h"
#include "scenarios/dialects/accelerate/accelerate_script.h"
#include "scenarios/dialects/deepspeed/deepspeed.h"

namespace plait::accelerate {
namespace {

/// FSDP1's, each by its name and its number.
const std::vector<std::string> kShardings = {"FULL_SHARD",
                                             "SHARD_GRAD_OP",
                                             "NO_SHARD",
                                             "HYBRID_SHARD",
                                             "HYBRID_SHARD_ZERO2",
                                             "1",
                                             "2",
                                             "3",
                                             "4",
                                             "5"};

class Reading {
 public:
  Reading(const std::string& text, const std::string& file)
      : file_(file), entries_(entries_of(text, file)) {}

  Imported read() {
    // utils/dataclasses.py, DistributedType: other devices than GPUs are the same here.
    const std::string type =
        one_of("distributed_type",
               {"FSDP", "MULTI_GPU", "NO", "DEEPSPEED", "MEGATRON_LM", "MULTI_XPU", "MULTI_NPU",
                "MULTI_MLU", "MULTI_MUSA", "MULTI_SDAA", "MULTI_HPU"},
               "NO");
    if (flag("use_cpu", false)) entries_.unsupported(*find("use_cpu"), "training on processors");
    if (type == "MEGATRON_LM") refuse_other("distributed_type", "its Megatron-LM arguments");
    out_.framework = "transformers";
    machine(type == "NO");
    precision(type != "FSDP" && type != "DEEPSPEED");
    mesh();
    if (type == "FSDP") {
      fsdp();
    } else if (type == "DEEPSPEED") {
      deepspeed();
    } else {
      stage_ = 0;
      give("distributed_type", "strategy.zero_stage", "0");
    }
    replicas();
    out_.foreign = entries_.knows_none();
    report_unread();
    return std::move(out_);
  }

 private:
  const ConfigEntry* find(std::string_view path) { return entries_.find(path); }
  void give(std::string_view by, std::string path, std::string json) {
    const ConfigEntry* entry = find(by);
    out_.give(std::move(path), std::move(json), entry == nullptr ? 0 : entry->line);
  }
  Where at_key(std::string_view path) { return entries_.at(*find(path)); }
  [[noreturn]] void refuse_other(std::string_view path, const std::string& instead) {
    const ConfigEntry& e = *find(path);
    throw InputError({"D006", fmt::format("{} is {}: the settings are elsewhere", e.path, e.text),
                      entries_.at(e), "settings in this file", "import " + instead});
  }

  std::int64_t integer(std::string_view path, std::int64_t otherwise) {
    return entries_.integer(find(path), otherwise, 0, 1 << 24);
  }
  bool flag(std::string_view path, bool otherwise) { return entries_.flag(find(path), otherwise); }
  std::string one_of(std::string_view path, const std::vector<std::string>& names,
                     const std::string& otherwise) {
    return entries_.one_of(find(path), names, otherwise);
  }

  /// `alone`: one process is started, however many there are to be (accelerate/commands/launch.py,
  /// where _validate_launch_command sets multi_gpu by this type alone; simple_launcher).
  void machine(bool alone) {
    machines_ = alone ? 1 : std::max<std::int64_t>(integer("num_machines", 1), 1);
    std::int64_t processes = integer("num_processes", alone ? 1 : 0);
    if (alone && processes > 1) {
      out_.warnings.push_back(
          {"W008", fmt::format("num_processes {} is read as 1: distributed_type NO starts one",
                               processes)});
    }
    if (alone) find("num_machines"), processes = 1;
    if (processes == 0) return;
    if (processes % machines_ != 0) {
      throw InputError({"D004", fmt::format("{} processes on {} machines", processes, machines_),
                        at_key("num_processes"), "as many processes on each machine",
                        "correct num_processes or num_machines"});
    }
    per_machine_ = processes / machines_;
    give("num_machines", "cluster.nodes", std::to_string(machines_));
    give("num_processes", "cluster.devices_per_node", std::to_string(per_machine_));
  }

  /// `wraps`: parameters stay as they are, and forward is wrapped in torch.autocast
  /// (accelerator.py, prepare_model).
  void precision(bool wraps) {
    // commands/launch.py has it in small letters.
    const ConfigEntry* named = find("mixed_precision");
    if (named != nullptr) entries_.say("mixed_precision", lower_case(named->text));
    const std::string type = one_of("mixed_precision", {"no", "bf16", "fp16", "fp8"}, "no");
    weights_ = type == "no" ? "fp32" : type == "fp8" ? "bf16" : type;
    const bool autocasts = wraps && (type == "bf16" || type == "fp16");
    const std::string stored = json_quote(autocasts ? "fp32" : weights_);
    const auto part = [&](const char* key, std::string value) {
      give("mixed_precision", std::string("workload.precision.") + key, std::move(value));
    };
    part("weights", stored), part("matmul", type == "fp8" ? json_quote(type) : stored);
    if (wraps && type == "fp8") return narrow();
    if (!autocasts) return;
    part("autocast", json_quote(type));
    for (const char* key : {"gradients", "reduction", "master", "moments"}) part(key, stored);
  }
  /// Autocast of parameters in fp32 too (accelerator.py, where fp8 turns on native_amp), which is
  /// not planned beside products in 8 bits.
  void narrow() {
    for (const char* key : {"gradients", "reduction"})
      give("mixed_precision", std::string("workload.precision.") + key, R"("fp32")");
    out_.warnings.push_back(
        {"W008",
         "mixed_precision fp8 is read as weights in bf16 beside a master in fp32: parameters are "
         "in "
         "fp32 alone, and bf16 is what torch.autocast casts them to in each pass"});
  }

  void mesh() {
    const std::string at = "parallelism_config.parallelism_config_";
    const auto ranks_at = [&](const std::string& key) {
      return std::max<std::int64_t>(integer(key, 1), 1);
    };
    const std::string tp = at + "tp_size", cp = at + "cp_size", sp = at + "sp_size";
    const std::int64_t rings = ranks_at(cp), exchanges = ranks_at(sp);
    if (rings > 1 && exchanges > 1) {
      throw InputError({"D006", "sequences are split twice, by cp and by sp", at_key(sp),
                        "one of the two", "set the other to 1; a scenario cannot say both"});
    }
    give(tp, "strategy.tp", std::to_string(ranks_at(tp)));
    give(exchanges > 1 ? sp : cp, "strategy.cp", std::to_string(rings * exchanges));
    // DeepSpeed's sequence parallelism exchanges tokens for heads (arXiv 2309.14509).
    const std::string backend = at + "cp_backend";
    const bool by_deepspeed =
        rings > 1 && one_of(backend, {"torch", "deepspeed"}, "torch") == "deepspeed";
    if (exchanges > 1 || by_deepspeed) {
      give(by_deepspeed ? backend : sp, "strategy.context.kind", R"("ulysses")");
    }
    splits_ = capped_product({ranks_at(tp), rings, exchanges});
    copies_ = std::max<std::int64_t>(integer(at + "dp_replicate_size", 1), 1);
    shards_ = integer(at + "dp_shard_size", 0);
  }

  void fsdp() {
    const std::string at = "fsdp_config.fsdp_";
    // Reduced in the type of mixed_precision, then cast to that of parameters: accelerate.h.
    give("mixed_precision", "workload.precision.reduction", json_quote(weights_));
    give("mixed_precision", "workload.precision.gradients", R"("fp32")");
    if (flag(at + "offload_params", false)) {
      give(at + "offload_params", "strategy.offload.optimizer", R"("cpu")");
      give(at + "offload_params", "strategy.offload.parameters", R"("cpu")");
    }
    const std::int64_t version = integer(at + "version", 1);
    sharding(at, version);
    give(at + "version", "strategy.fsdp_options.copies",
         json_quote(version == 1 ? "fsdp1" : "fsdp2"));
    wrapping(at + "auto_wrap_policy");
    // Or the script says so (TrainingArguments, gradient_checkpointing): then as in the base.
    if (flag(at + "activation_checkpointing", false)) {
      give(at + "activation_checkpointing", "strategy.recompute", R"("full")");
    }
  }

  void wrapping(const std::string& by) {
    const std::string policy =
        one_of(by, {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"}, "");
    if (policy == "NO_WRAP") {
      throw InputError({"D006", by + " is NO_WRAP: all of the model is gathered at once",
                        at_key(by), "units of layers", "import TRANSFORMER_BASED_WRAP"});
    }
    if (policy == "SIZE_BASED_WRAP") {
      out_.warnings.push_back(
          {"W008", fmt::format("{} is SIZE_BASED_WRAP: units are read as a layer each", by)});
    }
    give(by, "strategy.fsdp_options.root", "true");
  }
  void sharding(const std::string& at, std::int64_t version) {
    std::string by = at + "reshard_after_forward";
    const ConfigEntry* entry = find(by);
    // FSDP1 takes its strategy from this key too (utils/dataclasses.py,
    // FullyShardedDataParallelPlugin.__post_init__).
    const bool names_one =
        version == 1 && entry != nullptr && std::ranges::count(kShardings, entry->text) != 0;
    const bool reshards = names_one || flag(by, true);
    const std::string older = at + "sharding_strategy";
    const bool has_older = version == 1 && find(older) != nullptr;
    if (has_older) by = older;
    const bool by_name = names_one || has_older;
    const bool gathers_again = by_name ? sharding_named(one_of(by, kShardings, "1")) : reshards;
    if (version > 1) leave_out(older, reshards);
    if (shards_ == 1 && copies_ > 1) keep_whole();
    give(by, "strategy.zero_stage", std::to_string(stage_));
    give(by, "strategy.fsdp_options.reshard_after_forward", json_bool(gathers_again));
  }
  /// FSDP2 has reshard_after_forward alone, and replicas by parallelism_config
  /// (utils/fsdp_utils.py, fsdp2_prepare_model).
  void leave_out(const std::string& older, bool reshards) {
    const ConfigEntry* entry = find(older);
    if (entry == nullptr) return;
    const std::string same = reshards ? "FULL_SHARD" : "SHARD_GRAD_OP";
    if (kShardings[kind_of_sharding(one_of(older, kShardings, same))] == same) return;
    out_.warnings.push_back(
        {"W008",
         fmt::format("{} {} (line {}) changes nothing with fsdp_version 2: reshard_after_forward "
                     "and parallelism_config say how weights are sharded",
                     older, entry->text, entry->line)});
  }
  static std::size_t kind_of_sharding(const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(kShardings, name) - kShardings.begin()) % 5;
  }
  /// Replicas of one shard have all of it; parallelism_config.py refuses other axes beside them.
  void keep_whole() {
    stage_ = 0;
    if (splits_ == 1) return;
    const std::string by = "parallelism_config.parallelism_config_dp_shard_size";
    throw InputError({"D004", "tp or cp beside replicas of whole weights", at_key(by),
                      "settings that the program itself accepts",
                      "shard the weights too: dp_shard_size of 2 or more"});
  }
  /// Whether parameters are gathered again for backward.
  bool sharding_named(const std::string& name) {
    const std::size_t kind = kind_of_sharding(name);
    if (kind == 2) stage_ = 0;
    if (kind >= 3) std::tie(copies_, shards_) = std::pair(machines_, per_machine_);
    return kind == 0 || kind == 3;
  }

  void deepspeed() {
    const std::string at = "deepspeed_config.";
    if (find(at + "deepspeed_config_file") != nullptr) {
      refuse_other(at + "deepspeed_config_file", "that file, --from deepspeed");
    }
    stage_ = static_cast<int>(integer(at + "zero_stage", 2));
    const std::string config = ds_config(at);
    Imported read;
    try {
      read = deepspeed::read(config, file_);
    } catch (const InputError& e) {
      InputError::Text told = e.text();
      told.where.line = line_of(told.where.line);
      throw InputError(std::move(told));
    }
    for (Given& g : read.given) {
      const bool scripts = g.path == "workload.gradient_clipping" && g.line == 0;
      if (scripts || is_of_mesh(g.path)) continue;
      out_.give(std::move(g.path), std::move(g.value), line_of(g.line));
    }
    if (!read.framework.empty()) out_.framework = read.framework;
    append(out_.warnings, std::move(read.warnings));
    out_.accumulation = read.accumulation;
    out_.accumulation.line = line_of(read.accumulation.line);
  }

  /// What Accelerate makes of its settings (accelerate/utils/dataclasses.py,
  /// DeepSpeedPlugin.__post_init__), a key on a line.
  std::string ds_config(const std::string& at) {
    lines_ = {0};
    const auto key = [&](const std::string& by, const std::string& text) {
      const ConfigEntry* entry = find(by);
      lines_.push_back(entry == nullptr ? 0 : entry->line);
      return text + "\n";
    };
    std::string out;
    const std::string steps = "gradient_accumulation_steps", clipping = "gradient_clipping";
    if (const ConfigEntry* e = find(at + steps); e != nullptr && e->text != "auto") {
      out += key(at + steps, fmt::format(R"("{}": {},)", steps, integer(at + steps, 1)));
    }
    if (const ConfigEntry* e = find(at + clipping); e != nullptr && e->text != "auto") {
      out += key(at + clipping, fmt::format(R"("{}": {},)", clipping, entries_.number(e, 0)));
    }
    const bool fp16 = weights_ == "fp16", bf16 = weights_ == "bf16";
    out += key("mixed_precision",
               fmt::format(R"("bf16": {{"enabled": {}}}, "fp16": {{"enabled": {}}},)", bf16, fp16));
    out += key(at + "zero_stage", fmt::format(R"("zero_optimization": {{"stage": {})", stage_));
    for (const char* part : {"offload_optimizer", "offload_param"}) {
      const std::string by = fmt::format("{}{}_device", at, part);
      const std::string device = one_of(by, {"none", "cpu", "nvme"}, "none");
      if (device == "none") continue;
      out += key(by, fmt::format(R"(, "{}": {{"device": "{}"}})", part, device));
    }
    return "{" + out + "}}";
  }
  int line_of(int line) const {
    const auto at = static_cast<std::size_t>(std::max(line, 0));  // 0 where there is none
    return at < lines_.size() ? lines_[at] : 0;
  }
  /// The file says of ranks what mesh() and replicas() read.
  static bool is_of_mesh(std::string_view path) {
    return path == "strategy.tp" || path == "strategy.dp" || path == "strategy.fsdp";
  }

  void replicas() {
    const std::int64_t devices = machines_ * per_machine_,
                       ranks = capped_product({copies_, shards_, splits_});
    if (devices > 0 && shards_ > 0 && devices != ranks) {
      throw InputError({"D004", fmt::format("{} processes, and {} ranks", devices, ranks),
                        at_key("num_processes"), "sizes whose product is num_processes",
                        "correct parallelism_config or num_processes"});
    }
    out_.rest_shards = stage_ >= 2;
    out_.give(out_.rest_shards ? "strategy.dp" : "strategy.fsdp",
              std::to_string(out_.rest_shards ? copies_ : 1));
  }

  void report_unread() {
    for (const char* name : {"compute_environment",
                             "machine_rank",
                             "main_training_function",
                             "main_process_ip",
                             "main_process_port",
                             "rdzv_backend",
                             "same_network",
                             "debug",
                             "downcast_bf16",
                             "enable_cpu_affinity",
                             "fsdp_config",
                             "parallelism_config",
                             "parallelism_config.parallelism_config_sp_backend",
                             "parallelism_config.parallelism_config_cp_backend",
                             "parallelism_config.parallelism_config_cp_seq_length_is_variable",
                             "parallelism_config.parallelism_config_sp_seq_length_is_variable",
                             "deepspeed_config",
                             "tpu_env",
                             "tpu_use_cluster",
                             "tpu_use_sudo",
                             "deepspeed_config.zero3_init_flag",
                             "deepspeed_config.zero3_save_16bit_model",
                             "fsdp_config.fsdp_cpu_ram_efficient_loading",
                             "fsdp_config.fsdp_state_dict_type",
                             "fsdp_config.fsdp_sync_module_states",
                             "fsdp_config.fsdp_transformer_layer_cls_to_wrap",
                             "fsdp_config.fsdp_use_orig_params"}) {
      find(name);
    }
    // As is planned: a gather ahead in the backward pass, none beyond it in the forward pass.
    for (const auto& [name, planned] :
         {std::pair("fsdp_config.fsdp_backward_prefetch", "backward_pre"),
          std::pair("fsdp_config.fsdp_forward_prefetch", "false")}) {
      const auto& all = entries_.list();
      const auto entry = std::ranges::find(all, name, &ConfigEntry::path);
      if (entry != all.end() && lower_case(entry->text) == planned) find(name);
    }
    entries_.report_unread(out_.warnings);
  }

  std::string file_;
  ConfigEntries entries_;
  std::int64_t machines_ = 1, per_machine_ = 0, copies_ = 1, shards_ = 0, splits_ = 1;
  int stage_ = 3;
  std::string weights_;     // their type
  std::vector<int> lines_;  // of this file, by line of the ds_config.json that it stands for
  Imported out_;
};

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  return Reading(text, file).read();
}

}  // namespace plait::accelerate
