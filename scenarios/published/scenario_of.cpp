#include "scenarios/published/scenario_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/capped_product.h"
#include "core/json.h"
#include "core/spelling.h"
#include "model/kernels.h"
#include "plan/workload.h"
#include "scenarios/framework.h"
#include "scenarios/published/adapters_of.h"
#include "scenarios/published/attention_of.h"
#include "scenarios/published/fused_of.h"
#include "scenarios/published/machine_of.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/model_of.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/precision_of.h"
#include "scenarios/published/recipe_of.h"
#include "scenarios/published/recompute_of.h"
#include "scenarios/published/strategy_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// num_output_chunks (torchtune/modules/loss/ce_chunked_output_loss.py).
constexpr std::int64_t kLossPieces = 8;

class ScenarioWriter {
 public:
  ScenarioWriter(const PublishedRun& run, Recipe recipe)
      : run_(run),
        m_(run.model),
        p_(run.layout),
        framework_(framework_of(run)),
        attention_(attention_of(run, framework_)),
        recipe_(std::move(recipe)) {
    assumed_.push_back(profile_of(run).told);
    if (!recipe_.by_release.empty()) {
      assumed_.emplace_back("recipe: that of the release, " + recipe_.by_release);
    }
    if (std::string read = phrases_read(run); !read.empty()) assumed_.push_back(std::move(read));
    if (!attention_.told.empty()) assumed_.push_back(attention_.told);
    if (const std::string& taken = run.measured.memory_taken; !taken.empty())
      assumed_.push_back("measured memory: " + taken);
    for (const std::string& member : run.unread) assumed_.push_back("not read: " + member);
  }

  RecordScenario write() {
    refuse_what_no_plan_has();
    JsonObject out;
    out["name"] = run_.id;
    out["comment"] = run_.source;
    if (!framework_.empty()) out["framework"] = framework_;
    out["model"] = model_of(run_, framework_, assumed_);
    if (recipe_.dropout) out["model"]["dropout"] = *recipe_.dropout;
    out["workload"] = workload();
    out["strategy"] = strategy_of(run_, framework_, recipe_, assumed_);
    if (JsonObject k = kernels(); !k.empty()) out["kernels"] = std::move(k);
    if (JsonObject h = host(); !h.empty()) out["host"] = std::move(h);
    if (JsonObject m = memory(); !m.empty()) out["memory"] = std::move(m);
    out["cluster"] = cluster_of(run_, assumed_);
    if (!run_.optimizer.empty() && !mentions(lower_case(run_.optimizer), "adam"))
      assumed_.push_back(fmt::format("optimizer \"{}\": Adam", run_.optimizer));
    const std::string json = json_pretty(out.dump());
    const Framework* at_work = framework_at_work(parse_json(json, run_.id));
    if (at_work != nullptr && at_work->name != framework_) {
      assumed_.push_back(fmt::format("profile: {} instead, by the layout", at_work->name));
      framework_ = at_work->name;
    }
    return {framework_, json, std::move(assumed_)};
  }

 private:
  void refuse_what_no_plan_has() const {
    if (m_.layers == 0 || m_.hidden == 0 || m_.heads == 0) {
      throw NotRepresentable(
          "the shape of the model (layers, hidden, heads) is not published, and no preset is "
          "called so");
    }
    if (m_.sequence_length == 0) throw NotRepresentable("the sequence length is not published");
    if (run_.global_batch == 0)
      throw NotRepresentable("neither the global batch nor a micro-batch is published");
    if (!run_.has_layout || mentions(run_.notes, "configuration, not listed"))
      throw NotRepresentable("the layout is not published");
    if (mentions(run_.arguments, "--moe-layer-freq") && !dense_layers_first(run_)) {
      throw NotRepresentable("a list of layers with and without experts is not planned yet");
    }
    if (m_.experts > 0) refuse_other_mixtures();
    if (!p_.offload.empty() && offload_of(p_).empty()) {
      throw NotRepresentable(fmt::format("offload of another kind: {}", p_.offload));
    }
  }

  void refuse_other_mixtures() const {
    if (m_.experts_per_token == 0) {
      throw NotRepresentable("how many experts a token meets is not published");
    }
  }

  /// "For fine-tuning, we use SQuAD-v1.1 dataset, and the inputs are packed to 4096 tokens" (NeMo,
  /// docs/source/performance/performance_summary.md of 2024, of its user guide). Passages of 117
  /// words and questions of 10 in the mean are with prompt and answer about 195 tokens.
  void add_documents(JsonObject& workload) {
    const std::string words = lower_case(run_.source + "; " + run_.task + "; " + run_.notes);
    if (!has_pattern(words, "fine-?tun")) return;
    const bool nemos = has_pattern(words, R"(\bnemo (?:framework )?(?:docs|user guide)\b)");
    if (!nemos && !mentions(words, "squad")) return;
    assumed_.emplace_back("documents: SQuAD's, of 195 tokens, packed");
    workload["documents"] = {{"length", 195}};
  }

  bool runs_megatrons_softmax() const {
    const Framework* profile = find_framework(framework_);
    const auto says = [profile](const char* path, const char* value) {
      return std::ranges::any_of(profile->defaults, [&](const FrameworkDefault& d) {
        return d.path == path && d.value == value;
      });
    };
    return profile != nullptr && says("kernels.softmax", R"("megatron")") &&
           says("workload.flash_attention", "false") && !attention_.flash;
  }

  /// Of what is not published the least: one sequence or, where attention is Megatron-LM's own of
  /// 2021, as many as its fused softmax has code for, which its authors report on (Narayanan et al.
  /// 2021, section 4.2).
  std::int64_t least_micro_batch() const {
    Attention own;
    own.heads = m_.heads / std::max<std::int64_t>(1, p_.tp);
    own.seq_q = own.seq_kv = m_.sequence_length;
    for (const std::int64_t batch : {1, 2, 4}) {
      own.batch = batch;
      if (!runs_megatrons_softmax() || is_for_megatron_softmax(own)) return batch;
    }
    return 1;
  }

  /// Of what contradicts one another, the steps of accumulation are not taken.
  void note_other_accumulation(std::int64_t micro_batch) {
    const std::int64_t each = capped_product({micro_batch, run_.replicas()});
    if (run_.accumulation == 0 || capped_product({run_.accumulation, each}) == run_.global_batch)
      return;
    assumed_.push_back(fmt::format(
        "steps of accumulation: {:.3g}, as {} sequences in micro-batches of {} on {} replicas "
        "have, not {} as the record says",
        static_cast<double>(run_.global_batch) / static_cast<double>(each), run_.global_batch,
        micro_batch, run_.replicas(), run_.accumulation));
  }

  JsonObject workload() {
    std::int64_t micro_batch = run_.micro_batch;
    if (!run_.batch_taken.empty()) assumed_.push_back("global batch: " + run_.batch_taken);
    JsonObject out = {{"sequence_length", m_.sequence_length}, {"global_batch", run_.global_batch}};
    if (micro_batch == 0) {
      micro_batch = least_micro_batch();
      assumed_.push_back(fmt::format(
          "micro-batch: {}{}", micro_batch,
          micro_batch > 1 ? ", the least that Megatron-LM's softmax has code for" : ""));
    }
    out["micro_batch"] = micro_batch;
    note_other_accumulation(micro_batch);
    out["precision"] = precision_of(run_, assumed_);
    if (has_adapters(run_)) out["lora"] = adapters_of(run_, assumed_);
    if (drops_tokens()) {
      if (!mentions(run_.notes, "capacity factor 1"))
        assumed_.emplace_back("dropped tokens: capacity factor 1");
      out["capacity_factor"] = 1;
    } else if (m_.experts > 0 && !mentions(lower_case(run_.notes), "balanc")) {
      assumed_.emplace_back("tokens: spread evenly over the experts");
    }
    if (says(run_, Phrase::kLossPieces)) {
      assumed_.push_back(fmt::format("loss in pieces: {}, torchtune's", kLossPieces));
      out["loss_pieces"] = kLossPieces;
    }
    if (says(run_, Phrase::kLiger) && m_.vocab > 0) out["loss_pieces"] = kLigersLossPieces;
    if (attention_.flash) out["flash_attention"] = *attention_.flash;
    // Zero-bubble runs validate the norm behind the step (Qi et al. 2023, section 4): no stage
    // waits.
    const std::string& schedule = p_.schedule;
    if (schedule.starts_with("ZB") && !mentions(schedule, "sync")) out["gradient_clipping"] = false;
    add_documents(out);
    for (const RecordField& f : run_.workload_fields) out[f.name] = JsonObject::parse(f.value);
    return out;
  }

  /// "CUDA_LAUNCH_BLOCKING=1", "CUDA_LAUNCH_BLOCKING=1 was the standing workaround at >=40 nodes"
  bool blocks_launches() const {
    static const std::regex kFrom(R"(CUDA_LAUNCH_BLOCKING=1(?:[^.;]* >=(\d+) nodes)?)");
    std::smatch found;
    if (!std::regex_search(run_.notes, found, kFrom)) return false;
    if (!found[1].matched) return true;
    return run_.gpus >= count_in(found.str(), found.str(1)) * run_.gpus_per_node;
  }

  /// vTrain's times on one node are affine in layers and microbatches to the nanosecond: sums of
  /// passes that were measured one by one, in none of which the host is ahead of an earlier one.
  bool is_sum_of_passes() const { return mentions(run_.source, "ground_truth_single.csv"); }

  /// Dispatchers by their names; the zoo's own model files fuse routing and permutation
  /// (yanring/Megatron-MoE-ModelZoo, model_configs/benchmarking).
  void add_routing(JsonObject& out) {
    // HybridEP sends as DeepEP does, but for an NVLink domain of racks, where neither was measured.
    const bool hybridep = says(run_, Phrase::kHybridEp);
    if (says(run_, Phrase::kDeepEp) || (hybridep && !run_.gpu.starts_with("GB")))
      out["exchange"] = "deepep";
    if (mentions(run_.source, "ModelZoo") || mentions(run_.source, "moe-modelzoo"))
      out["routing"] = "fused";
    // A graph of the whole step cannot know how many tokens each expert has: one product of all
    // takes them from device memory (Megatron-Bridge: cutedsl_fused_grouped_mlp).
    if (recipe_.whole_step_graph) out["experts"] = "fused";
    // HybridEP leaves the gaps that 8-bit products want, as a graph of the whole step does; a
    // capacity is a multiple of them (Megatron-LM experts.py, TEGroupedMLP).
    const bool gaps = hybridep || recipe_.whole_step_graph || drops_tokens();
    if (narrows_products(run_) && !gaps) out["expert_padding"] = "eager";
    // Megatron-Bridge gpt_oss_provider.py: add_bias_linear.
    if (!is_called(m_.name, "gpt oss")) return;
    out["expert_bias"] = "eager";
    // Its positions are YaRN's, whose factor for scores Transformer Engine's kernel does not know
    // (Megatron-LM megatron/core/models/common/embeddings/rope_utils.py, apply_rotary_pos_emb).
    out["rope"] = "eager";
    // activation_func_clamp_value 7 of the same file; the product with its activation in one kernel
    // clamps there.
    if (!recipe_.whole_step_graph) out["clamp"] = "eager";
  }

  bool drops_tokens() const {
    return m_.experts > 0 && !mentions(lower_case(run_.notes), "dropless") &&
           says(run_, Phrase::kDropsTokens);
  }

  /// Dropped tokens leave shapes that are known, and Megatron-Bridge 0.1 captures such steps whole
  /// on Blackwell (scripts/performance/configs/qwen3/qwen3_30b_a3b_llm_pretrain.py: use_tokendrop
  /// with cuda_graph_impl local, cuda_graph_scope full_iteration; on H100 neither is set).
  bool drops_in_a_graph() const {
    const bool blackwell = run_.gpu.starts_with("B200") || run_.gpu.starts_with("GB200");
    return blackwell && mentions(run_.source, "Megatron-Bridge") && is_called(m_.name, "tokendrop");
  }

  /// Where the record names kernels.
  JsonObject kernels() {
    JsonObject out;
    add_fused(out, run_);
    if (!out.empty()) assumed_.push_back("read of kernels: " + listed(out));
    if (!attention_.kernel.empty()) out["attention"] = attention_.kernel;
    if (attention_.eager_softmax) out["softmax"] = "eager";
    if (recipe_.rotates_apart) out["rope"] = "eager";
    if (mentions(run_.arguments, "--cross-entropy-loss-fusion true"))
      out["cross_entropy"] = "fused";
    if (sends_in_pieces(run_, framework_))
      out["sequence"] = "fused";  // gathered in pieces, in their place
    if (mentions(plain_text(run_.precision), "fp8 cs") || mentions(run_.notes, "_FP8_CS_"))
      out["amax"] = "eager";
    if (scales_by_blocks(run_) || in_mxfp8(run_)) out["amax"] = "blocks";
    if (recipe_.cublas_13) out["cublas"] = "13";
    if (m_.experts > 0) add_routing(out);
    if (compiles_layers(run_)) {
      for (const char* kernel : {"norm", "rope", "activation", "merge"}) out[kernel] = "fused";
      if (!attention_.flash.value_or(true)) out["softmax"] = "fused";  // with scale and mask
    }
    return out;
  }

  /// "norm fused, rope eager"
  static std::string listed(const JsonObject& kernels) {
    std::string out;
    for (const auto& [kernel, kind] : kernels.items()) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kernel, kind.get<std::string>());
    }
    return out;
  }

  JsonObject host() const {
    if (blocks_launches()) return {{"blocking", true}};
    if (is_sum_of_passes()) return {{"waits_for_passes", true}};
    // One graph for the whole step knows no host: nothing is issued op by op, nothing waited for.
    if (recipe_.whole_step_graph || drops_in_a_graph())
      return {{"graphs", true}, {"waits_for_routing", false}};
    JsonObject out;
    if (mentions(run_.notes, "'moe_router', 'moe_preprocess'")) out["routing_graph"] = true;
    if (recipe_.quick_linear) out["linear_calls"] = 0;
    if (says(run_, Phrase::kGraphs)) out["graphs"] = true;
    return out;
  }

  /// Megatron-LM's --deterministic-mode needs a fixed workspace of cuBLAS, for which its tests
  /// choose ":4096:8" (PyTorch documentation, torch.use_deterministic_algorithms).
  JsonObject memory() const {
    JsonObject out;
    if (mentions(run_.notes, "deterministic=True")) out["workspace"] = "32 MiB";
    // Linear layers of PyTorch itself: those with a bias go by cuBLASLt, which has as many
    // workspaces of its own in PyTorch 2.7 and later.
    if (mentions(run_.notes, "transformer_impl=local")) {
      out["workspaces"] = 4;
      out["library_workspaces"] = 0;
    }
    return out;
  }

  const PublishedRun& run_;
  const PublishedModel& m_;
  const PublishedLayout& p_;
  std::string framework_;
  AttentionWords attention_;
  Recipe recipe_;
  std::vector<std::string> assumed_;
};

/// What the record leaves out, as its preset and its recipe have it.
PublishedRun completed_by(const Recipe& recipe, PublishedRun run) {
  run.model = completed_by_preset(std::move(run.model));
  complete(run.model.layers, recipe.layers);
  complete(run.model.hidden, recipe.hidden);
  complete(run.model.heads, recipe.heads);
  complete(run.model.sequence_length, recipe.sequence_length);
  complete(run.layout.offload, recipe.offload);
  complete(run.layout.zero_stage, recipe.zero_stage);
  complete(run.recompute, recipe.recompute);
  complete(run.kernel, recipe.kernel);
  complete(run.framework, recipe.framework);
  complete(run.processors, recipe.processors);
  if (!recipe.interconnect.empty() && mentions(run.interconnect, "(recalled)"))
    run.interconnect = recipe.interconnect;
  complete(run.interconnect, recipe.interconnect);
  return run;
}

}  // namespace

RecordScenario scenario_of(const PublishedRun& published) {
  PublishedRun run = published;
  complete(run.gpus_per_node, usual_gpus_per_node(run));
  Recipe recipe = recipe_of(run);
  const PublishedRun completed = completed_by(recipe, run);
  RecordScenario out = ScenarioWriter(completed, std::move(recipe)).write();
  if (published.gpus_per_node == 0 && run.gpus > run.gpus_per_node)
    out.assumed.push_back(fmt::format("GPUs of a node: {}", run.gpus_per_node));
  return out;
}

}  // namespace plait
