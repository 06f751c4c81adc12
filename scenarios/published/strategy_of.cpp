#include "scenarios/published/strategy_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "core/spelling.h"
#include "scenarios/published/adapters_of.h"
#include "scenarios/published/not_representable.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/pipeline_of.h"
#include "scenarios/published/precision_of.h"
#include "scenarios/published/recompute_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// nanotron's tp_linear_async_communication, which its profile has off.
bool sends_beside_products(const PublishedRun& run, const std::string& framework) {
  return run.layout.tp > 1 && framework == "nanotron" && says(run, Phrase::kAsyncTensor);
}

/// Copies of sharded weights, as PyTorch and DeepSpeed (MiCS) call them.
constexpr const char* kHybrid = R"(\b(?:hybrid|hsdp|mics)\b)";

class StrategyWriter {
 public:
  StrategyWriter(const PublishedRun& run, const std::string& framework, const Recipe& recipe,
                 std::vector<std::string>& assumed)
      : run_(run),
        m_(run.model),
        p_(run.layout),
        framework_(framework),
        recipe_(recipe),
        assumed_(assumed) {}

  JsonObject write() {
    JsonObject out = {{"pp", p_.pp}, {"tp", p_.tp}};
    if (p_.cp > 1) out["cp"] = p_.cp;
    if (p_.cp > 1 && exchanges_heads()) out["context"] = "ulysses";
    const bool copies = m_.experts > 0 && p_.etp > 0 && p_.etp < p_.tp;  // along tp, or others
    const std::int64_t ep = p_.ep > 1 || copies ? experts(out) : 1;
    if (recipe_.gathers_tokens) out["expert_dispatch"] = "all_gather";
    const std::int64_t zero = zero_stage();
    const bool sharded = zero == 3;
    if (sharded) {
      add_shards(out, ep);
    } else {
      add_replicas(out, ep, zero);
    }
    if (p_.tp > 1) out["sequence_parallel"] = splits_sequences();
    out["recompute"] = recompute_of(run_, framework_, recipe_, assumed_);
    add_tensor_overlap(out);
    if (!p_.offload.empty()) out["offload"] = offload_of(p_);
    if (recipe_.overlaps_gradients) {
      out["data"] = {{"overlap", true}, {"overlap_gathers", recipe_.overlaps_gathers}};
    }
    if (recipe_.overlaps_gathers && sharded) out["fsdp_options"] = {{"prefetch", 1}};
    if (sharded && scales_early(run_)) out["fsdp_options"]["early_scales"] = true;
    if (sharded && p_.pp > 1 && framework_.starts_with("torchtitan")) {
      // torchtitan/parallelisms/parallelize_llama.py, apply_fsdp, pp_enabled.
      out["fsdp_options"]["reshard_after_forward"] = false;
      assumed_.emplace_back("gathered weights stay in a pipeline: torchtitan's default");
    }
    if (p_.pp > 1) out["pipeline"] = pipeline_of(run_, framework_, recipe_, assumed_);
    if (p_.pp == 1 && recipe_.hides_exchanges) out["pipeline"] = {{"exchange_overlap", "passes"}};
    return out;
  }

 private:
  void add_tensor_overlap(JsonObject& out) {
    const bool megatrons = recipe_.overlaps_tensor && p_.tp > 1;
    if (sends_beside_products(run_, framework_)) out["tensor"] = "weight-grad";
    if (!megatrons && !sends_in_pieces(run_, framework_)) return;
    if (recomputes_ops(out["recompute"])) {
      assumed_.emplace_back("tensor parallelism in pieces: not with recomputation op by op");
    } else if (has_adapters(run_)) {  // which no plan has beside it (S163)
      assumed_.emplace_back("tensor parallelism in pieces: not beside adapters");
    } else {
      out["tensor"] = "ring";
    }
  }
  /// That the groups of a record are equal ones.
  void require_groups(const char* said, std::int64_t group) const {
    const std::int64_t ranks = run_.replicas();
    if (group == 0 || group >= ranks || ranks % group == 0) return;
    throw NotRepresentable(fmt::format(
        "{} {} leaves over {} of {} ranks that share what ZeRO shards: it is to divide them", said,
        group, ranks % group, ranks));
  }
  void require_groups() const { require_groups("parallel.zero_group", p_.zero_group); }

  /// Of a group of so many replicas the axis fsdp has those with the same experts: what all of them
  /// hold is sharded over ep too.
  static std::int64_t shards_in(std::int64_t group, std::int64_t ep) {
    if (ep == 1 || (group % ep == 0 && group > ep)) return group / ep;
    throw NotRepresentable(fmt::format(
        "weights sharded within groups of {} ranks, beside expert-parallel groups of {}, are not "
        "planned: a group is to have several ranks of each expert",
        group, ep));
  }

  /// Weights sharded over all replicas, or over groups of them.
  void add_shards(JsonObject& out, std::int64_t ep) {
    require_groups();
    JsonObject plus = zero_plus_plus();
    const std::int64_t ranks = run_.replicas() / ep,
                       group = plus.empty() ? ranks_of_a_copy() : ranks_of_a_node();
    const bool in_groups = group > 0 && run_.replicas() % group == 0;
    const std::int64_t shards = in_groups && group < run_.replicas() ? shards_in(group, ep) : ranks;
    if (p_.dp > 0 || shards < ranks) out["dp"] = ranks / shards;
    out["fsdp"] = shards;
    if (!plus.empty()) {  // over all ranks, with what stays within groups of them
      out["zero_stage"] = 3;
      out["zero_plus_plus"] = std::move(plus);
      return;
    }
    // Over cp, or over the ranks of different experts.
    if (shards == 1 && run_.replicas() * p_.cp > 1 && !in_groups) out["zero_stage"] = 3;
  }

  /// Of Megatron-LM's several instances of the distributed optimizer each has the ranks of a group.
  void add_replicas(JsonObject& out, std::int64_t ep, std::int64_t zero) const {
    const std::int64_t ranks = run_.replicas() / ep, group = p_.zero_group;
    if (zero > 0) require_groups();
    if (zero > 0 && group > 0 && group < run_.replicas()) {
      const std::int64_t shards = shards_in(group, ep);
      out.update({{"dp", ranks / shards}, {"fsdp", shards}, {"zero_stage", zero}});
      return;
    }
    if (p_.dp > 0) out["dp"] = p_.dp / ep;
    if (zero > 0 && p_.dp * p_.cp != 1) out["zero_stage"] = zero;
  }

  /// Megatron-LM wants it beside experts, and where messages go in pieces
  /// (megatron/training/arguments.py).
  bool splits_sequences() {
    if (p_.sequence_parallel) return *p_.sequence_parallel;
    const bool wanted = m_.experts > 0 || recipe_.overlaps_tensor;
    if (wanted) assumed_.emplace_back("sequence parallelism: with experts and overlap");
    return wanted;
  }

  /// DeepSpeed-Ulysses, wherever the record says so.
  bool exchanges_heads() const {
    return mentions(
        lower_case(fmt::format("{}; {}; {}; {}", run_.source, run_.framework, p_.fsdp, run_.notes)),
        "ulysses");
  }

  /// DeepSpeed refuses stage 2 in a pipeline (runtime/pipe/engine.py), and Megatron-LM's optimizer
  /// adds up gradients whole until the last microbatch: what they call so is stage 1.
  std::int64_t zero_stage() {
    const std::int64_t stage = p_.zero_stage ? *p_.zero_stage : stage_of_words();
    const bool in_pipeline = stage == 2 && p_.pp > 1 && p_.fsdp.empty();
    if (!in_pipeline) return stage;
    assumed_.emplace_back("ZeRO stage 2 in a pipeline: 1");
    return 1;
  }

  /// PyTorch's, DeepSpeed's and Megatron-FSDP's words for what is sharded. A hybrid replicates
  /// shards.
  std::int64_t stage_of_words() {
    if (p_.fsdp.empty()) return 0;
    const auto says = [this](const char* pattern) { return says_of_shards(pattern); };
    const bool whole = says(R"(\bno shard|\bddp\b|\breplicated?\b|(?:zero|stage) ?0)");
    const std::int64_t stage = whole && !says(kHybrid)                            ? 0
                               : says(R"((?:zero|stage) ?1|\boptim\b(?! grads))") ? 1
                               : says(R"(\bgrad op\b|(?:zero|stage) ?2|\boptim grads\b(?! params))")
                                   ? 2
                                   : 3;
    assumed_.push_back(fmt::format("sharded data parallelism: ZeRO stage {}", stage));
    return stage;
  }

  bool says_of_shards(const char* pattern) const {
    return asserted(plain_text(p_.fsdp), pattern).has_value();
  }

  std::int64_t ranks_of_a_node() const {
    return std::max<std::int64_t>(1, run_.gpus_per_node / (p_.tp * p_.cp));
  }

  /// Which hold the weights of a model together: as many as the words say of a hybrid, else, as
  /// PyTorch's HYBRID_SHARD has it, those of a node. 0: all.
  std::int64_t ranks_of_a_copy() const {
    if (p_.zero_group > 0) return p_.zero_group;
    if (recipe_.shards > 0) return recipe_.shards;
    if (!says_of_shards(kHybrid)) return 0;
    const std::int64_t said = ranks_said_of_a_copy();
    if (said > 0) require_groups("parallel.fsdp: a group of", said);
    if (said == 0) assumed_.emplace_back("copies of sharded weights: one in each node");
    return said > 0 ? said : ranks_of_a_node();
  }

  /// "8 shard x 8 replicate", "dp_shard=8", "4 replicas", "2x8", "16-way"; 0: no number is said.
  std::int64_t ranks_said_of_a_copy() const {
    const std::string words = plain_text(p_.fsdp);
    const auto number = [&](const char* pattern) {
      const auto found = asserted(words, pattern);
      return found ? count_in(words, found->groups[0]) : 0;
    };
    for (const char* shards :
         {R"(\b(\d+) ?(?:way )?shards?\b)", R"(\bshards?(?: size)?[ =:]+(\d+)\b)"}) {
      if (const std::int64_t said = number(shards); said > 0) return said;
    }
    for (const char* copies :
         {R"(\b(\d+) ?(?:way )?(?:replica|copies)\w*)", R"(\breplicate[ =:]+(\d+)\b)"}) {
      if (const std::int64_t said = number(copies); said > 0) return ranks_of(said);
    }
    if (const std::int64_t said = number(R"(\b\d+ ?x ?(\d+)\b)"); said > 0) return said;
    return number(R"(\b(\d+) way\b)");
  }

  /// Of so many equal copies.
  std::int64_t ranks_of(std::int64_t copies) const {
    if (run_.replicas() % copies == 0) return run_.replicas() / copies;
    throw NotRepresentable(fmt::format("parallel.fsdp \"{}\": {} copies of weights on {} ranks",
                                       p_.fsdp, copies, run_.replicas()));
  }

  /// What the words name of DeepSpeed's ZeRO++; all of it where they name none (Wang et al. 2023,
  /// arXiv 2306.10209: hpZ, qwZ and qgZ). Empty: it is not said.
  JsonObject zero_plus_plus() {
    if (!says_of_shards(R"(\bzero ?(?:\+\+|pp\b)|\b(?:hpz|qwz|qgz)\b)")) return {};
    JsonObject out = {{"secondary_shard", says_of_shards(R"(\bhpz\b)")},
                      {"quantized_weights", says_of_shards(R"(\bqwz\b)")},
                      {"quantized_gradients", says_of_shards(R"(\bqgz\b)")}};
    if (std::ranges::any_of(out, [](const JsonObject& part) { return part.get<bool>(); }))
      return out;
    assumed_.emplace_back("ZeRO++: hpZ, qwZ and qgZ");
    for (JsonObject& part : out) part = true;
    return out;
  }

  /// Megatron-LM counts the ranks of an expert mesh, whose expert-parallel groups are ranks side by
  /// side: those along tp that do not split the same expert, then those along cp, then replicas.
  /// Writes the axis ep and returns its size.
  std::int64_t experts(JsonObject& out) const {
    const std::int64_t split = p_.etp > 0 ? p_.etp : p_.tp;  // ranks of an expert
    if (p_.tp % split != 0) {
      throw NotRepresentable("experts split over more ranks than the rest are not planned yet");
    }
    const std::int64_t beside = p_.tp / split, folded = p_.cp * beside;
    const std::int64_t ep = p_.ep / folded;
    if (ep * folded != p_.ep || (p_.dp > 0 && p_.dp % ep != 0)) {
      throw NotRepresentable("expert-parallel groups across half of an axis are not planned yet");
    }
    out["ep"] = ep;
    if (folded > 1)
      out["expert_axes"] = std::string(p_.cp > 1 ? "cp+" : "") + "ep" + (beside > 1 ? "+tp" : "");
    if (beside > 1 && split > 1) out["expert_tp"] = split;
    return ep;
  }

  const PublishedRun& run_;
  const PublishedModel& m_;
  const PublishedLayout& p_;
  const std::string& framework_;
  const Recipe& recipe_;
  std::vector<std::string>& assumed_;
};

}  // namespace

JsonObject strategy_of(const PublishedRun& run, const std::string& framework, const Recipe& recipe,
                       std::vector<std::string>& assumed) {
  return StrategyWriter(run, framework, recipe, assumed).write();
}

JsonObject offload_of(const PublishedLayout& layout) {
  const std::string text = lower_case(layout.offload);
  static const std::regex kActivations(R"(activation offload (\S+).*)");
  std::smatch found;
  if (std::regex_match(text, found, kActivations))
    return {{"activations", "cpu"}, {"activation_layers", count_in(text, found.str(1))}};
  const char* where = asserted(text, "nvme") ? "nvme" : "cpu";
  JsonObject out;
  if (asserted(text, "optimi[sz]er|zero-offload")) out["optimizer"] = where;
  if (asserted(text, "param")) out.update({{"optimizer", where}, {"parameters", where}});
  // PyTorch's CPUOffload and DeepSpeed's ZeRO-Offload, by the place alone.
  if (text == "cpu" || text == "nvme" || text == "yes") {
    out["optimizer"] = where;
    if (layout.zero_stage.value_or(layout.fsdp.empty() ? 0 : 3) == 3) out["parameters"] = where;
  }
  return out;
}

bool sends_in_pieces(const PublishedRun& run, const std::string& framework) {
  return run.layout.tp > 1 && framework != "nanotron" && says(run, Phrase::kAsyncTensor);
}

}  // namespace plait
