#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/json.h"
#include "core/spelling.h"
#include "core/split.h"
#include "model/presets.h"
#include "scenarios/dialects/hub_names.h"
#include "scenarios/dialects/launched_machine.h"
#include "scenarios/dialects/toml_map.h"
#include "scenarios/dialects/torchtitan/torchtitan.h"

namespace plait::torchtitan {
namespace {

/// Of torch.distributed.pipelining; `pieces`: of a rank, unless layers of a stage are given.
struct ScheduleName {
  std::string_view name, ours;
  std::int64_t pieces;
};
constexpr std::array kSchedules = {
    ScheduleName{"1f1b", "1f1b", 1}, ScheduleName{"gpipe", "gpipe", 1},
    ScheduleName{"interleaved1f1b", "interleaved", 2}, ScheduleName{"zbvzerobubble", "zb-v", 2},
    ScheduleName{"dualpipev", "dualpipe-v", 2}};

/// What is absent has torchtitan's default.
class Reading {
 public:
  Reading(const std::string& text, const std::string& file)
      : Reading(text, config_in(text), file) {}

  Imported read() {
    out_.framework = compiles() ? "torchtitan-2025" : "torchtitan";
    model();
    precision();
    batch();
    mesh();
    pipeline();
    recompute();
    optimizer();
    fault_tolerance();
    out_.foreign = entries_.knows_none();
    for (const ConfigEntry& entry : entries_.list())
      if (is_idle(entry.path)) find(entry.path);
    entries_.report_unread(out_.warnings);
    return std::move(out_);
  }

 private:
  /// `config`: all of `text`, or what it writes as a script; "": neither is known to be one.
  Reading(const std::string& text, const std::string& config, const std::string& file)
      : entries_(read_toml_map(config.empty() ? text : config, file)) {
    if (!config.empty() && config != text) machine(text, file);
  }
  /// Of the script that holds the TOML.
  void machine(const std::string& script, const std::string& file) {
    const std::vector<ShellWord> words = shell_words(script, file, &out_.warnings);
    Arguments args(words, file);
    read_machine(args, words, script, out_);
    for (const char* idle : {"--rdzv-backend", "--rdzv-endpoint", "--rdzv-id", "--standalone",
                             "--local-ranks-filter", "--role", "--tee", "--job.config-file"})
      args.pass_over(idle);
    args.report_unread(out_.warnings);
  }
  const ConfigEntry* find(std::string_view path) { return entries_.find(path); }
  const ConfigEntry* degree(const std::string& key) {
    return entries_.find({"parallelism." + key, "experimental." + key, "training." + key});
  }
  void give(const ConfigEntry* by, std::string path, std::string json) {
    out_.give(std::move(path), std::move(json), by == nullptr ? 0 : by->line);
  }

  /// The model; compile.components may name the loss alone (torchtitan/models/llama3/infra/
  /// parallelize.py).
  bool compiles() {
    const bool some = entries_.flag(entries_.find({"compile.enable", "training.compile"}), false);
    const ConfigEntry* components = find("compile.components");
    if (components == nullptr) return some;
    for (const std::string& part : list_of(*components)) {
      if (part == "model") return some;
    }
    return false;
  }
  /// Its texts, without quotes.
  static std::vector<std::string> list_of(const ConfigEntry& entry) {
    std::vector<std::string> out;
    for (const std::string& part : split(trimmed(entry.text, "[] ,"), ','))
      out.emplace_back(trimmed(part, " \t\r\n\"'"));
    return out;
  }

  /// Groups of replicas that come and go, each a job of its own (torchft).
  void fault_tolerance() {
    const ConfigEntry* on = find("fault_tolerance.enable");
    if (!entries_.flag(on, false)) return;
    if (const ConfigEntry* method = find("fault_tolerance.semi_sync_method"))
      entries_.unsupported(*method, "replicas that meet after several steps");
    out_.warnings.push_back(
        {"W008",
         fmt::format(
             "{} (line {}) is left out: this is a job of one group of replicas, and what it "
             "exchanges with the others is not predicted",
             on->path, on->line)});
  }

  void model() {
    const ConfigEntry *name = find("model.name"), *flavor = find("model.flavor");
    if (name == nullptr || flavor == nullptr) return;
    std::string preset = preset_of_titan(name->text, flavor->text);
    const std::string joined = name->text + "-" + lower_case(flavor->text);  // qwen3-30b-a3b
    if (preset.empty() && find_preset(joined) != nullptr) preset = joined;
    if (joined == "deepseek_v3-671b") preset = "deepseek-v3";
    if (preset.empty()) {
      out_.unknown_model = joined;
      return warn_unread({"the model " + joined + ", which is no preset"}, out_.warnings);
    }
    give(name, "model", json_quote(preset));
    layers_ = find_preset(preset)->layers, mixes_ = find_preset(preset)->experts > 0;
  }

  void precision() {
    const ConfigEntry* param = find("training.mixed_precision_param");
    const ConfigEntry* reduce = find("training.mixed_precision_reduce");
    const auto ours = [&](const ConfigEntry* e, const char* otherwise) {
      return entries_.one_of(e, {"bfloat16", "float32"}, otherwise) == "bfloat16" ? "bf16" : "fp32";
    };
    const std::string weights = ours(param, "bfloat16");
    give(param, "workload.precision.weights", json_quote(weights));
    narrow(weights);
    give(reduce, "workload.precision.reduction", json_quote(ours(reduce, "float32")));
    const ConfigEntry* kept = find("training.dtype");
    const std::string stored = ours(kept, "float32");
    give(kept, "workload.precision.gradients", json_quote(stored));
    // All that is sharded is in it; by default fp32 (torchtitan/train.py).
    if (stored == "bf16") {
      for (const char* part : {"master", "moments"})
        give(kept, std::string("workload.precision.") + part, json_quote(stored));
    }
    const ConfigEntry* norm = find("training.max_norm");
    give(norm, "workload.gradient_clipping", json_bool(entries_.number(norm, 1) > 0));
  }

  /// Products in 8 bits, by a converter or as versions before had it.
  void narrow(const std::string& weights) {
    const ConfigEntry* converters = find("model.converters");
    const bool named = converts(converters),
               older = entries_.flag(find("float8.enable_float8_linear"), false);
    narrow_ = named || older;
    give(converters, "workload.precision.matmul", json_quote(narrow_ ? "fp8" : weights));
    const ConfigEntry* recipe = of_float8("recipe_name");
    const std::string scales =
        entries_.one_of(recipe, {"tensorwise", "rowwise", "rowwise_with_gw_hp"}, "tensorwise");
    if (!narrow_) return give(recipe, "workload.precision.scales", R"("tensor")");
    if (scales == "rowwise_with_gw_hp")
      entries_.unsupported(*recipe, "weights' gradients in more than 8 bits");
    const bool rows = scales == "rowwise";
    if (rows && mixes_) {
      out_.warnings.push_back({"W008", fmt::format("{} rowwise (line {}) is read as tensorwise: "
                                                   "scales of rows are not planned beside experts",
                                                   recipe->path, recipe->line)});
    }
    give(recipe, "workload.precision.scales", rows && !mixes_ ? R"("row")" : R"("tensor")");
    // torchtitan/components/quantization/float8.py, Float8LinearConverter.
    const ConfigEntry* gathers = of_float8("enable_fsdp_float8_all_gather");
    if (recipe == nullptr || !entries_.flag(gathers, false)) return;
    throw InputError(
        {"D004", fmt::format("a gather in 8 bits (line {}) beside a recipe by name", gathers->line),
         entries_.at(*recipe), "settings that the program itself accepts",
         "remove one of them: recipe_name or enable_fsdp_float8_all_gather"});
  }
  const ConfigEntry* of_float8(const std::string& key) {
    return entries_.find({"quantize.linear.float8." + key, "float8." + key});
  }
  /// Linear layers, and experts with them.
  bool converts(const ConfigEntry* converters) {
    if (converters == nullptr) return false;
    bool linear = false, experts = false;
    for (const std::string_view name : list_of(*converters)) {
      if (name == "mx" || name.ends_with(".mx"))
        entries_.unsupported(*converters, "products in MX formats");
      linear = linear || name == "float8" || name == "quantize.linear.float8";
      experts = experts || name == "quantize.grouped_mm.float8";
    }
    if (experts && !linear)
      entries_.unsupported(*converters, "products of experts alone in 8 bits");
    const bool old_name = find("float8.moe_fqns_prototype") != nullptr;
    if (linear && mixes_ && !experts && !old_name) {
      out_.warnings.push_back(
          {"W008",
           "products of experts are read in 8 bits too, as those of linear layers: torchtitan has "
           "them in 16 unless quantize.grouped_mm.float8 converts them"});
    }
    return linear;
  }

  /// With pipeline stages a step is one local batch, cut into microbatches.
  void batch() {
    const ConfigEntry* length = find("training.seq_len");
    give(length, "workload.sequence_length", std::to_string(entries_.integer(length, 2048)));
    const ConfigEntry* local = entries_.find({"training.local_batch_size", "training.batch_size"});
    const ConfigEntry* pieces = degree("pipeline_parallel_microbatch_size");
    const ConfigEntry* global = find("training.global_batch_size");
    const std::int64_t own = entries_.integer(local, 8);
    const bool staged = entries_.integer(degree("pipeline_parallel_degree"), 1) > 1;
    const std::int64_t micro = staged ? entries_.integer(pieces, 1) : own;
    if (own % micro != 0) entries_.malformed(*pieces, fmt::format("a divisor of {}", own));
    give(staged ? pieces : local, "workload.micro_batch", std::to_string(micro));
    const std::int64_t all = entries_.integer(global, -1, -1);
    const ConfigEntry* steps = find("training.steps");
    if (steps != nullptr) out_.steps = entries_.integer(steps, 0);
    if (all > 0) give(global, "workload.global_batch", std::to_string(all));
    out_.repeats_steps = true;  // torchtitan/train.py: gradient_accumulation_steps follow from it
    out_.accumulation = {"training.local_batch_size", std::to_string(own / micro),
                         local == nullptr ? 0 : local->line};
  }

  void mesh() {
    const ConfigEntry *tp = degree("tensor_parallel_degree"),
                      *cp = degree("context_parallel_degree");
    tp_ = entries_.integer(tp, 1), cp_ = entries_.integer(cp, 1),
    pp_ = entries_.integer(degree("pipeline_parallel_degree"), 1);
    give(tp, "strategy.tp", std::to_string(tp_));
    give(tp, "strategy.sequence_parallel", json_bool(tp_ > 1));
    give(cp, "strategy.cp", std::to_string(cp_));
    const ConfigEntry* rotates = degree("context_parallel_rotate_method");
    const bool gathers =
        entries_.one_of(rotates, {"allgather", "alltoall"}, "allgather") == "allgather";
    if (cp_ > 1) give(rotates, "strategy.context.kind", gathers ? R"("all_gather")" : R"("ring")");
    const ConfigEntry* hides = degree("enable_async_tensor_parallel");
    const bool pieces = entries_.flag(hides, false);
    if (tp_ > 1) give(hides, "strategy.tensor.overlap", pieces ? R"("ring")" : R"("none")");
    experts();
    replicas();
    const ConfigEntry* host = find("training.enable_cpu_offload");
    const std::string place = entries_.flag(host, false) ? R"("cpu")" : R"("none")";
    if (shards_weights_ && host != nullptr) {
      give(host, "strategy.offload.optimizer", place);
      give(host, "strategy.offload.parameters", place);
    }
    if (shards_weights_) resharding();
  }

  /// On ranks that shard the other weights, those along cp among them, and those along tp where
  /// these do not split experts (expert_tensor_parallel_degree 1, of versions since 2025).
  void experts() {
    const ConfigEntry* dealt = degree("expert_parallel_degree");
    const ConfigEntry* split = degree("expert_tensor_parallel_degree");
    const std::int64_t ranks = entries_.integer(dealt, 1), each = entries_.integer(split, tp_);
    if (ranks == 1) return;
    if (each != 1 && each != tp_) entries_.malformed(*split, fmt::format("1 or {}, as tp", tp_));
    const std::int64_t beside = cp_ * (tp_ / each);
    if (ranks % beside != 0)
      entries_.unsupported(*dealt, "experts on some of the ranks along cp or tp");
    ep_ = ranks / beside;
    give(dealt, "strategy.ep", std::to_string(ep_));
    give(split == nullptr ? dealt : split, "strategy.expert_axes",
         fmt::format(R"("{}ep{}")", cp_ > 1 ? "cp+" : "", each < tp_ ? "+tp" : ""));
    if (split == nullptr && tp_ > 1) {
      out_.warnings.push_back(
          {"W008", "experts are read as split along tp: expert_tensor_parallel_degree is absent"});
    }
  }

  void replicas() {
    const ConfigEntry* copies = degree("data_parallel_replicate_degree");
    const ConfigEntry* shards = degree("data_parallel_shard_degree");
    if (shards == nullptr) shards = degree("data_parallel_degree");
    const std::int64_t whole = entries_.integer(copies, 1), cut = entries_.integer(shards, -1, -1);
    const bool splits = std::max({tp_, cp_, pp_, ep_}) > 1;
    if (cut == 1 && whole > 1 && splits) {
      throw InputError({"D004", "whole replicas (DDP) beside other parallelism",
                        entries_.at(*copies), "settings that the program itself accepts",
                        "shard the weights too: data_parallel_shard_degree of 2 or more"});
    }
    if (cut > 0 && cut % ep_ != 0)
      entries_.malformed(*shards, fmt::format("a multiple of {}", ep_));
    shards_weights_ = cut != 1 || cp_ > 1;
    give(shards, "strategy.zero_stage", shards_weights_ ? "3" : "0");
    give(copies, "strategy.dp", std::to_string(whole));
    if (cut > 0) give(shards, "strategy.fsdp", std::to_string(cut / ep_));
    out_.rest_shards = cut < 0;
  }

  /// In a pipeline weights stay where nothing is said (torchtitan/distributed/fsdp.py,
  /// get_fsdp_reshard_after_forward_policy).
  void resharding() {
    const ConfigEntry* policy = degree("fsdp_reshard_after_forward");
    const std::string name = entries_.one_of(policy, {"default", "always", "never"}, "default");
    const bool again = name == "always" || (name == "default" && pp_ == 1);
    give(policy, "strategy.fsdp_options.reshard_after_forward", json_bool(again));
    if (again)
      give(policy, "strategy.fsdp_options.reshard_last_layer", json_bool(name == "always"));
    give(policy, "strategy.fsdp_options.copies", R"("fsdp2")");
    give(policy, "strategy.fsdp_options.root", "true");
    const ConfigEntry* narrow = of_float8("enable_fsdp_float8_all_gather");
    const bool gathers = entries_.flag(narrow, false) && narrow_;
    give(narrow, "workload.precision.narrow_weights", gathers ? R"("gathered")" : R"("none")");
    const ConfigEntry* early = of_float8("precompute_float8_dynamic_scale_for_fsdp");
    if (gathers)
      give(early, "strategy.fsdp_options.early_scales", json_bool(entries_.flag(early, false)));
  }

  void pipeline() {
    const ConfigEntry* stages = degree("pipeline_parallel_degree");
    give(stages, "strategy.pp", std::to_string(pp_));
    const ConfigEntry* named = degree("pipeline_parallel_schedule");
    const std::string name = named == nullptr ? "1f1b" : lower_case(named->text);
    const ConfigEntry* each = degree("pipeline_parallel_layers_per_stage");
    const ConfigEntry* first = degree("pipeline_parallel_first_stage_less_layers");
    const ConfigEntry* last = degree("pipeline_parallel_last_stage_less_layers");
    if (pp_ == 1) return;
    const auto* found = std::ranges::find(kSchedules, name, &ScheduleName::name);
    if (found == kSchedules.end()) entries_.unsupported(*named, "the schedule " + named->text);
    give(named, "strategy.pipeline.schedule", json_quote(found->ours));
    const Ends ends = {entries_.integer(first, 1, 0), entries_.integer(last, 1, 0)};
    std::int64_t pieces = pp_ * found->pieces;
    if (layers_ == 0) {
      if (each != nullptr) {
        warn_unread({each->path + ", as it names no model that is known"}, out_.warnings);
      }
      return give(named, "strategy.pipeline.chunks", std::to_string(found->pieces));
    }
    const std::int64_t all = layers_ + ends.first + ends.last;
    if (const std::int64_t most = entries_.integer(each, 0); most > 0)
      pieces = (all + most - 1) / most;
    const ConfigEntry* by = each == nullptr ? stages : each;
    if (pieces % pp_ != 0)
      entries_.malformed(*by, fmt::format("{} stages or a multiple of these", pp_));
    const std::vector<std::int64_t> shared = shared_by_titan(layers_, pieces, ends);
    if (std::ranges::min(shared) < 0)
      entries_.malformed(*by, "as many layers as the ends count, or more");
    give(by, "strategy.pipeline.chunks", std::to_string(pieces / pp_));
    give(by, "strategy.pipeline.stage_layers", fmt::format("[{}]", fmt::join(shared, ",")));
  }

  void optimizer() {
    const ConfigEntry* early = find("optimizer.early_step_in_backward");
    if (entries_.flag(early, false)) {
      out_.warnings.push_back(
          {"W008",
           fmt::format(
               "{} (line {}) is read as an optimizer behind the backward pass: gradients of "
               "all layers are planned to stay until then",
               early->path, early->line)});
    }
    const ConfigEntry* name = find("optimizer.name");
    if (name == nullptr || lower_case(name->text).starts_with("adam")) return;
    out_.warnings.push_back(
        {"W008",
         fmt::format("the optimizer {} (line {}) is read as Adam, with two moments of each weight",
                     name->text, name->line)});
  }

  void recompute() {
    const ConfigEntry* named = find("activation_checkpoint.mode");
    const ConfigEntry* option = find("activation_checkpoint.selective_ac_option");
    const std::string mode =
        entries_.one_of(named, {"none", "full", "selective", "memory_budget"}, "selective");
    if (mode == "memory_budget") entries_.unsupported(*named, "what fits into a budget");
    const std::string what = option == nullptr ? "2" : option->text;
    const bool by_op = mode == "selective" && what == "op";
    std::int64_t every = 1;
    if (mode == "selective" && !by_op) every = entries_.integer(option, 2);
    const char* kind = mode == "none" ? "none" : by_op ? "ops" : "full";
    give(named, "strategy.recompute.kind", json_quote(kind));
    give(option, "strategy.recompute.every", std::to_string(every));
    give(named, "strategy.recompute.layers", "-1");
  }

  ConfigEntries entries_;
  std::int64_t tp_ = 1, cp_ = 1, pp_ = 1, ep_ = 1, layers_ = 0;
  bool mixes_ = false;           // a mixture of experts
  bool narrow_ = false;          // products in 8 bits
  bool shards_weights_ = false;  // FSDP
  Imported out_;
};

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  return Reading(text, file).read();
}

}  // namespace plait::torchtitan
