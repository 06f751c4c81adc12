#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/fields.h"
#include "core/json.h"
#include "core/spelling.h"
#include "core/units.h"
#include "scenarios/dialects/deepspeed/deepspeed.h"
#include "scenarios/dialects/deepspeed/deepspeed_idle.h"

namespace plait::deepspeed {
namespace {

constexpr std::int64_t kMostSequences = 1 << 28;  // of a batch: what workload.global_batch takes

/// Members by path; what was never asked for is reported.
class Reading {
 public:
  Reading(const std::string& text, const std::string& file) : document_(parse_json(text, file)) {
    if (!document_.root().is(Json::Kind::kObject)) refuse_type(document_.root(), "an object");
    for (const char* part : {"bf16", "bfloat16", "fp16", "torch_autocast", "zero_optimization"}) {
      const Json* json = document_.root().find(part);
      if (json != nullptr && !json->is(Json::Kind::kObject)) refuse_type(*json, "an object");
      if (json != nullptr && part == std::string_view("bfloat16")) bf16_ = "bfloat16.enabled";
    }
  }

  Imported read() {
    batch();
    precision();
    zero();
    sequences();
    const auto& keys = document_.root().children();
    out_.foreign = !keys.empty() && std::ranges::none_of(keys, [&](const Json* key) {
      return std::ranges::any_of(asked_, [&](const std::string& path) {
        return path == key->path() || path.starts_with(key->path() + ".");
      });
    });
    for (const char* name : {"_dialect", "_scenario", "_to_be_added", "_not_represented"})
      find(name);
    report_unread();
    if (!automatic_.empty()) {
      out_.warnings.push_back(
          {"W008",
           fmt::format("as in the base, or by default, since the file leaves it to a launcher: {}",
                       fmt::join(automatic_, ", "))});
    }
    return std::move(out_);
  }

 private:
  /// The value at a path; nothing where it is absent or left to a launcher ("auto").
  const Json* find(const std::string& path) {
    asked_.push_back(path);
    const Json* at = document_.root().find_path(path);
    if (at == nullptr || at->is(Json::Kind::kNull)) return nullptr;
    return at->is(Json::Kind::kText) && at->text() == "auto" ? nullptr : at;
  }
  /// True where a launcher fills it in, and so the program's default is not meant.
  bool is_automatic(const std::string& path) {
    const Json* at = document_.root().find_path(path);
    const bool automatic = at != nullptr && at->is(Json::Kind::kText) && at->text() == "auto";
    if (automatic) automatic_.push_back(path);
    return automatic;
  }

  std::int64_t integer(const std::string& path, std::int64_t otherwise,
                       std::int64_t most = 1'000'000'000'000) {
    const Json* json = find(path);
    if (json == nullptr) return otherwise;
    const bool whole =
        json->is(Json::Kind::kInteger) ||  // 5e8 is a customary way to say it
        (json->is(Json::Kind::kNumber) && json->number() == std::floor(json->number()));
    if (!whole) refuse_type(*json, "an integer");
    if (json->number() < 0 || json->number() > static_cast<double>(most))
      refuse_range(*json, fmt::format("an integer from 0 to {}", most));
    return static_cast<std::int64_t>(json->number());
  }
  bool flag(const std::string& path, bool otherwise) {
    const Json* json = find(path);
    if (json == nullptr) return otherwise;
    if (!json->is(Json::Kind::kBool)) refuse_type(*json, "true or false");
    return json->boolean();
  }
  int line(const std::string& path) {
    const Json* json = find(path);
    return json == nullptr ? 0 : json->where().line;
  }
  void give(const std::string& by, std::string path, std::string json) {
    out_.give(std::move(path), std::move(json), line(by));
  }
  std::string type(const std::string& path, std::string otherwise) {
    const Json* json = find(path);
    if (json == nullptr) return otherwise;
    std::string text;
    Text{{"fp32", "fp16", "bf16", "bfp16"}}.read(*json, text);
    return text == "bfp16" ? "bf16" : text;
  }

  void batch() {
    const std::int64_t global = integer("train_batch_size", 0, kMostSequences);
    const std::int64_t micro = integer("train_micro_batch_size_per_gpu", 0, kMostSequences);
    const std::int64_t steps = integer("gradient_accumulation_steps", 0, kMostSequences);
    if (global > 0) give("train_batch_size", "workload.global_batch", std::to_string(global));
    if (micro > 0) {
      give("train_micro_batch_size_per_gpu", "workload.micro_batch", std::to_string(micro));
    }
    // config.py: a batch alone is one of each replica. What a launcher fills in is not known.
    const auto is_silent = [&](const char* key) { return document_.root().find(key) == nullptr; };
    const bool alone = global > 0 && is_silent("train_micro_batch_size_per_gpu") &&
                       is_silent("gradient_accumulation_steps");
    out_.accumulation = {"gradient_accumulation_steps", std::to_string(alone ? 1 : steps),
                         line("gradient_accumulation_steps")};
    const Json* clipping = find("gradient_clipping");
    if (clipping != nullptr && !clipping->is(Json::Kind::kInteger) &&
        !clipping->is(Json::Kind::kNumber)) {
      refuse_type(*clipping, "a number");
    }
    if (is_automatic("gradient_clipping")) return;
    give("gradient_clipping", "workload.gradient_clipping",
         json_bool(clipping != nullptr && clipping->number() > 0));
  }

  void precision() {
    const bool bf16 = flag(bf16_, false), fp16 = flag("fp16.enabled", false);
    if (bf16 && fp16) {
      throw InputError({"D004", "bf16 and fp16 are both enabled", find("fp16.enabled")->where(),
                        "one of them", "disable the other"});
    }
    const bool bf16_is_open = is_automatic(bf16_);  // each of the two is noted
    const bool fp16_is_open = is_automatic("fp16.enabled");
    if ((bf16_is_open || fp16_is_open) && !bf16 && !fp16) {
      for (const auto& [weights, open] :
           {std::pair("bf16", bf16_is_open), std::pair("fp16", fp16_is_open)}) {
        if (open) out_.by_type.push_back({weights, of_weights(weights)});
      }
      if (!bf16_is_open || stage_of_zero() > 0) return;
      std::ranges::move(of_bf16_optimizer(), std::back_inserter(out_.by_type.front().given));
      return;
    }
    if (!bf16 && !fp16 && flag("torch_autocast.enabled", false)) return autocast();
    const std::string weights = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
    shards_masters_ = bf16 && stage_of_zero() == 0;
    give(fp16 ? "fp16.enabled" : bf16_, "workload.precision.weights", json_quote(weights));
    for (Given& g : of_weights(weights)) out_.given.push_back(std::move(g));
  }

  /// Products in 16 bits of parameters in 32 (deepspeed/runtime/torch_autocast.py), whose gradients
  /// travel in 16. Stage 3 gathers 16 bits: its parameters are read as the master of such weights.
  void autocast() {
    const char *on = "torch_autocast.enabled", *by = "torch_autocast.dtype";
    std::string name = "bfloat16";
    if (const Json* json = find(by)) Text{{"bfloat16", "float16"}}.read(*json, name);
    const std::string weights = name == "float16" ? "fp16" : "bf16";
    const bool whole = stage_of_zero() < 3;
    give(on, "workload.precision.weights", whole ? R"("fp32")" : json_quote(weights));
    if (whole) give(by, "workload.precision.autocast", json_quote(weights));
    for (Given& g : of_weights(weights)) {
      const bool kept = g.path == "workload.precision.gradients" && g.line == 0;
      if (kept) g.value = R"("fp32")";
      if (g.path == "strategy.keep_weight_shard") g.value = "false";
      out_.given.push_back(std::move(g));
    }
  }

  /// What follows from the type of weights.
  std::vector<Given> of_weights(const std::string& weights) {
    const std::int64_t stage = stage_of_zero();
    // engine.py: bf16 accumulates in fp32 without ZeRO, anything else in the type of the weights.
    const bool plain_bf16 = weights == "bf16" && stage == 0;
    const char *gradients = "data_types.grad_accum_dtype", *wire = "communication_data_type";
    const std::string kept = type(gradients, plain_bf16 ? "fp32" : weights);
    const std::string reduction = type(wire, weights);
    element_bytes_ = reduction == "fp32" ? 4 : 2;
    std::vector<Given> out = {{"workload.precision.gradients", json_quote(kept), line(gradients)},
                              {"workload.precision.reduction", json_quote(reduction), line(wire)}};
    // stage3.py keeps its shard of weights in 16 bits beside the master weights.
    if (stage == 3) {
      out.push_back({"strategy.keep_weight_shard", json_bool(weights != "fp32"),
                     line("zero_optimization.stage")});
    }
    return out;
  }

  /// bf16 without ZeRO has an optimizer that shards what it keeps in fp32: each rank has all
  /// gradients, and gathers the others' weights at the end of step() (bf16_optimizer.py; engine.py,
  /// _do_optimizer_sanity_check and allreduce_gradients).
  std::vector<Given> of_bf16_optimizer() {
    out_.warnings.push_back(
        {"W008",
         "stage 0 with weights in bf16 is read as zero_stage 1 with data.all_reduce: DeepSpeed's "
         "BF16_Optimizer shards master weights and moments there"});
    const int stage = line("zero_optimization.stage");
    return {{"strategy.zero_stage", "1", stage}, {"strategy.data.all_reduce", "true", stage}};
  }

  void zero() {
    const std::int64_t stage = stage_of_zero();
    if (shards_masters_) {
      for (Given& g : of_bf16_optimizer()) out_.given.push_back(std::move(g));
    } else {
      give("zero_optimization.stage", "strategy.zero_stage", std::to_string(stage));
    }
    // Shards of gradients are reduced in each micro-batch (deepspeed/runtime/engine.py, no_sync
    // refuses these stages; accelerate/accelerator.py, no_sync, and transformers/trainer.py leave
    // it out with DeepSpeed).
    if (stage >= 2) give("zero_optimization.stage", "strategy.fsdp_options.no_sync", R"("never")");
    if (stage == 3) {
      give("zero_optimization.stage", "strategy.fsdp_options.copies", R"("deepspeed")");
      out_.framework = "deepspeed-zero3";
    }
    // config.py: overlap_comm is on by default for stage 3 only; a bucket has 5e8 elements.
    const bool overlaps = flag("zero_optimization.overlap_comm", stage == 3);
    give("zero_optimization.overlap_comm", "strategy.data.overlap", json_bool(overlaps));
    // stage_1_and_2.py: weights are gathered at the end of step().
    if (gathers_updates(stage) && overlaps)
      give("zero_optimization.stage", "strategy.data.overlap_gathers", "false");
    const std::int64_t elements = integer("zero_optimization.reduce_bucket_size", 500'000'000);
    const bool automatic = is_automatic("zero_optimization.reduce_bucket_size");
    if (!automatic && stage < 2) {  // shards of gradients are reduced layer by layer
      give("zero_optimization.reduce_bucket_size", "strategy.data.bucket",
           json_quote(exact_text(Bytes(elements * element_bytes_))));
    }
    const std::int64_t within = zero_plus_plus(stage);
    out_.rest_shards = stage >= 2 && within == 1;
    give("zero_optimization.zero_hpz_partition_size",
         out_.rest_shards ? "strategy.dp" : "strategy.fsdp", std::to_string(within));
    give("tensor_parallel.autotp_size", "strategy.tp",
         std::to_string(std::max<std::int64_t>(integer("tensor_parallel.autotp_size", 1), 1)));
    offload();
  }

  /// Ulysses: replicas are so many fewer (deepspeed/runtime/config.py, DeepSpeedConfig.__init__).
  void sequences() {
    const char* by = "sequence_parallel_size";
    const std::int64_t ranks = integer(by, 1, 1 << 24);
    if (ranks <= 1) return;
    give(by, "strategy.cp", std::to_string(ranks));
    give(by, "strategy.context.kind", R"("ulysses")");
  }

  std::int64_t stage_of_zero() { return integer("zero_optimization.stage", 0); }

  /// Ranks that share a secondary shard, or all shards (MiCS), 1: there are none. Only stage 3 has
  /// a use for these keys.
  std::int64_t zero_plus_plus(std::int64_t stage) {
    const std::string at = "zero_optimization.", to = "strategy.zero_plus_plus.";
    const std::int64_t size = std::max<std::int64_t>(integer(at + "zero_hpz_partition_size", 1), 1);
    const std::int64_t within = stage == 3 ? size : 1;
    give(at + "zero_hpz_partition_size", to + "secondary_shard", json_bool(within > 1));
    for (const char* what : {"weights", "gradients"}) {
      const std::string key = fmt::format("{}zero_quantized_{}", at, what);
      const bool quantized = flag(key, false) && stage == 3;
      give(key, fmt::format("{}quantized_{}", to, what), json_bool(quantized));
    }
    const Json* mics = find(at + "mics_shard_size");  // -1: none
    const bool groups = stage == 3 && mics != nullptr && mics->is(Json::Kind::kInteger);
    return groups ? std::max(within, mics->integer()) : within;
  }

  void offload() {
    const std::string optimizer = offload_of("offload_optimizer", "strategy.offload.optimizer");
    const std::string parameters = offload_of("offload_param", "strategy.offload.parameters");
    if (parameters == "none" || optimizer != "none") return;
    std::erase_if(out_.given,
                  [](const Given& g) { return g.path == "strategy.offload.parameters"; });
    out_.warnings.push_back({"W008",
                             "offload_param without offload_optimizer is read as none: a scenario "
                             "has parameters in host memory beside their optimizer alone"});
  }
  /// The device that the part names; "none" where it is absent.
  std::string offload_of(const std::string& part, std::string to) {
    const std::string path = fmt::format("zero_optimization.{}", part);
    const Json* offload = find(path);
    // As older files say it: cpu_offload, and cpu_offload_params.
    const std::string before =
        path == "zero_optimization.offload_param" ? "cpu_offload_params" : "cpu_offload";
    const std::string old = fmt::format("zero_optimization.{}", before);
    const bool on_host = flag(old, false);
    std::string place = on_host && offload == nullptr ? "cpu" : "none";
    if (offload != nullptr) {
      if (const Json* device = offload->find("device")) {
        Text{{"none", "cpu", "nvme"}}.read(*device, place);
      }
      const Json* ratio = offload->find("ratio");
      if (ratio != nullptr && ratio->is(Json::Kind::kNumber) && ratio->number() != 1) {
        throw InputError({"D006", "a part of the optimizer on the host", ratio->where(),
                          "ratio 1, all of it", "remove it; a scenario cannot say it"});
      }
    }
    if (place != "none" && stage_of_zero() < least_stage_of(part)) {
      out_.warnings.push_back({"W008", fmt::format("{} is read as none: it takes stage {}", part,
                                                   least_stage_of(part))});
      return "none";
    }
    if (place != "none") give(offload == nullptr ? old : path, std::move(to), json_quote(place));
    return place;
  }

  void report_unread() {
    pass_over_adam();
    std::vector<std::string> unread;
    for (const Json* member : document_.root().children()) {
      if (!member->is(Json::Kind::kObject)) collect(*member, unread);
      for (const Json* inner : member->children()) {
        if (member->is(Json::Kind::kObject)) collect(*inner, unread);
      }
    }
    warn_unread(unread, out_.warnings);
  }
  void collect(const Json& json, std::vector<std::string>& unread) const {
    const bool asked = std::ranges::count(asked_, json.path()) != 0;
    if (is_place(json)) {
      for (const Json* inner : json.children()) {
        if (!is_idle_in(json, *inner)) unread.push_back(inner->path());
      }
    } else if (!asked && !is_idle(json)) {
      unread.push_back(json.path());
    }
  }
  /// Adam's rates and betas; another optimizer is listed.
  void pass_over_adam() {
    const Json* type = document_.root().find_path("optimizer.type");
    const bool is_text = type != nullptr && type->is(Json::Kind::kText);
    if (is_text && lower_case(type->text()).starts_with("adam")) {
      find("optimizer.type");
      find("optimizer.params");
    }
  }

  JsonDocument document_;
  std::vector<std::string> asked_, automatic_;
  std::string bf16_ = "bf16.enabled";  // older: bfloat16
  std::int64_t element_bytes_ = 2;
  bool shards_masters_ = false;  // though there is no ZeRO
  Imported out_;
};

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  return Reading(text, file).read();
}

}  // namespace plait::deepspeed
