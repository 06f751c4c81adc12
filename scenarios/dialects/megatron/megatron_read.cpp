#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/spelling.h"
#include "core/units.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/launched_machine.h"
#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/placement.h"

namespace plait::megatron {
namespace {

/// Of GPT-2's byte pairs: vocab.json, which GPT2BPETokenizer reads.
constexpr std::int64_t kGpt2Tokens = 50257;

/// Reads arguments in the order of the writer; what is absent has Megatron-LM's default.
class Reading {
 public:
  Reading(const std::string& text, const std::string& file)
      : text_(text),
        file_(file),
        words_(words_of_program(shell_words(text, file, &out_.warnings), program(), file)),
        args_(with_names_of_forks(words_), file) {}

  Imported read() {
    refuse_other_models();
    fork_ = fork_of(args_, text_, file_, out_.warnings);
    const bool has_model = args_.flag("--num-layers") || args_.flag("--hidden-size");
    axes();
    offload();
    if (has_model) model();
    if (fork_.deepspeed) {
      read_deepspeed_experts(args_, out_, tp_, layers_, ffn_hidden_);
    } else {
      read_experts(args_, out_, {tp_, cp_}, layers_, ffn_hidden_);
    }
    workload();
    training();
    types_ = read_precision(args_, out_, fork_);
    read_pipeline(args_, out_, pp_, layers_);
    read_recompute(args_, out_);
    if (fork_.deepspeed) {
      read_zero(args_, out_, fork_, types_);
    } else {
      sharding();
      reduction();
    }
    if (!fork_.deepspeed) read_fusions(args_, out_);
    if (fork_.deepspeed) args_.pass_over("--no-gradient-accumulation-fusion");  // it never has that
    read_machine(args_, words_, text_, out_);
    pass_over();
    out_.framework = framework_of(fork_);
    out_.foreign = args_.knows_none();
    pass_over_idle(args_);
    args_.report_unread(out_.warnings);
    return std::move(out_);
  }

 private:
  /// pretrain_gpt.py and kin.
  static StartedProgram program() {
    return {"Megatron-LM", {[](const ShellWord& w, const ShellWord&) {
              const std::string_view text = w.text, script = text.substr(text.rfind('/') + 1);
              return script.starts_with("pretrain_") && script.ends_with(".py");
            }}};
  }
  void give(std::string_view argument, std::string path, std::string json) {
    out_.give(std::move(path), std::move(json), args_.line(argument));
  }
  void give_flag(std::string_view argument, std::string path) {
    const bool there = args_.flag(argument);
    give(argument, std::move(path), json_bool(there));
  }
  std::int64_t copy(const Same& same, std::int64_t otherwise) {
    const std::int64_t value = args_.integer(same.argument).value_or(otherwise);
    if (value > 0) give(same.argument, std::string(same.path), std::to_string(value));
    return value;
  }
  void near(const std::string& what) { out_.warnings.push_back({"W008", what}); }

  void refuse_other_models() {
    for (const char* other : {"pretrain_t5.py", "pretrain_vlm.py", "pretrain_retro.py"}) {
      const ShellWord* const word = script(other);
      if (word == nullptr) continue;
      throw InputError({"D006",
                        fmt::format("{} trains what a scenario cannot say", word->text),
                        {file_, word->line, 0, ""},
                        "pretrain_gpt.py, pretrain_mamba.py or pretrain_bert.py",
                        "import another run"});
    }
    if (args_.number("--optimizer-offload-fraction").value_or(1) != 1) {
      args_.unsupported("--optimizer-offload-fraction", "a part of the optimizer in host memory");
    }
  }

  void offload() {
    if (args_.flag("--optimizer-cpu-offload")) {
      give("--optimizer-cpu-offload", "strategy.offload.optimizer", R"("cpu")");
    }
    const std::int64_t layers = args_.integer("--cpu-offloading-num-layers", 0).value_or(0);
    if (layers == 0) return;
    give("--cpu-offloading-num-layers", "strategy.offload.activations", R"("cpu")");
    give("--cpu-offloading-num-layers", "strategy.offload.activation_layers",
         std::to_string(layers));
  }

  void axes() {
    tp_ = copy(kAxes[0], 1);
    pp_ = copy(kAxes[1], 1);
    cp_ = copy(kAxes[2], 1);
    if (cp_ > 1) read_context(args_, out_, cp_);
    if (fork_.deepspeed) cp_ = std::max(cp_, read_ulysses(args_, out_));
    if (args_.flag("--tp-comm-overlap") && !args_.flag("--sequence-parallel"))
      args_.contradiction("--tp-comm-overlap", "residuals that are whole",
                          "add --sequence-parallel, or remove --tp-comm-overlap");
    if (tp_ > 1 && !fork_.deepspeed) {
      give("--tp-comm-overlap", "strategy.tensor.overlap",
           args_.flag("--tp-comm-overlap") ? R"("ring")" : R"("weight-grad")");
    }
    give("--sequence-parallel", "strategy.sequence_parallel",
         json_bool(args_.flag("--sequence-parallel") && tp_ > 1));  // as Megatron-LM itself
    if (args_.flag("--use-tp-pp-dp-mapping")) {
      give("--use-tp-pp-dp-mapping", "placement.order", kStagesWithinReplicas);
    }
  }

  void model() {
    const std::int64_t counted = layers_of_pattern(args_);
    for (std::size_t i = 0; i < std::size(kModelSizes); ++i) {
      const std::int64_t size = copy(kModelSizes[i], i == 0 ? counted : 0);
      if (i == 0) layers_ = size;
      if (kModelSizes[i].path == "model.hidden") hidden_ = size;
      if (kModelSizes[i].path == "model.heads") heads_ = size;
    }
    read_hybrid(args_, out_, layers_, hidden_);
    mlp();
    positions();
    vocabulary();
    const auto norm =  // in small letters: Megatron-DeepSpeed's
        args_.one_of("--normalization", {"LayerNorm", "RMSNorm", "layernorm", "rmsnorm"});
    const bool rms = lower_case(norm.value_or("")) == "rmsnorm";
    give("--normalization", "model.norm", rms ? R"("rmsnorm")" : R"("layernorm")");
    give("--untie-embeddings-and-output-weights", "model.tied_embeddings",
         json_bool(!args_.flag("--untie-embeddings-and-output-weights")));
    read_heads(args_, out_, hidden_, heads_, rms);
    read_windows(args_, out_, layers_);
    biases();
    encoder();
    give("", "model.parallel_attention", "false");
    if (args_.flag("--embed-layernorm")) {  // of forks: bigscience-workshop/Megatron-DeepSpeed
      give("--embed-layernorm", "model.embedding_norm", "true");
    }
    const std::int64_t modules = args_.integer("--mtp-num-layers", 0).value_or(0);
    give("--mtp-num-layers", "model.mtp_layers", std::to_string(modules));
    dropout();
  }

  /// The word that names a script, in whatever folder; null where none does.
  const ShellWord* script(const std::string& name) const {
    const auto found =
        std::ranges::find_if(words_, [&](const ShellWord& w) { return is_program(w, name); });
    return found == words_.end() ? nullptr : &*found;
  }

  /// pretrain_bert.py: two segments, a head of its own, and all tokens see one another.
  void encoder() {
    const bool masked = script("pretrain_bert.py") != nullptr;
    give("", "model.causal", json_bool(!masked));
    give("", "model.masked_lm_head", json_bool(masked));
    give("", "model.token_types", masked ? "2" : "0");
  }

  void mlp() {
    args_.exclusive("--swiglu", "--squared-relu");
    args_.exclusive("--swiglu", "--quick-geglu");
    const bool silu = args_.flag("--swiglu"), gelu = args_.flag("--quick-geglu");
    const bool relu = args_.flag("--squared-relu");
    if (gelu) near("--quick-geglu is read as a gated gelu");
    if (relu) near("--squared-relu is read as relu");
    const char* by = silu ? "--swiglu" : gelu ? "--quick-geglu" : "--squared-relu";
    give(by, "model.gated_mlp", json_bool(silu || gelu));
    give(by, "model.activation", silu ? R"("silu")" : relu ? R"("relu")" : R"("gelu")");
    // arguments.py: two thirds of 4 h with swiglu, rounded down to 64; else 4 h.
    const std::int64_t usual = silu ? hidden_ * 8 / 3 / 64 * 64 : 4 * hidden_;
    ffn_hidden_ = args_.integer("--ffn-hidden-size").value_or(usual);
    if (!args_.flag("--ffn-hidden-size") && hidden_ > 0) {
      out_.give("model.ffn_hidden", std::to_string(usual));
    }
  }

  void positions() {
    const std::string kind =
        args_
            .one_of("--position-embedding-type",
                    {"learned_absolute", "rope", "yarn", "mrope", "alibi", "none"})
            .value_or(args_.flag("--use-rotary-position-embeddings") ? "rope" : "learned_absolute");
    if (kind == "rope") args_.flag("--no-position-embedding");  // which it says already
    const bool none = kind == "none" || kind == "alibi";
    if (kind == "alibi") near("ALiBi's biases are read as nothing, as attention adds them itself");
    give("--position-embedding-type", "model.positions",
         none                         ? R"("none")"
         : kind == "learned_absolute" ? R"("learned")"
                                      : R"("rotary")");
    const auto positions = args_.integer("--max-position-embeddings");
    const auto sequence = args_.integer("--seq-length");
    if (positions && sequence && *positions < *sequence) {
      args_.contradiction("--max-position-embeddings", "--seq-length, which is longer");
    }
    if (positions) {
      give("--max-position-embeddings", "model.max_positions", std::to_string(*positions));
    }
  }

  void vocabulary() {
    const char* const known = args_.flag("--pad-vocab-size-to") ? "--pad-vocab-size-to"  // a fork's
                                                                : "--padded-vocab-size";
    const auto padded = args_.integer(known), size = args_.integer("--vocab-size");
    const std::int64_t multiple =
        args_.integer("--make-vocab-size-divisible-by").value_or(128) * tp_;
    if (padded) {
      give(known, "model.vocab", std::to_string(*padded));
    } else if (size) {
      const bool counts_less = args_.text("--tokenizer-type") == "NullTokenizer";
      const std::int64_t tokens = *size + (counts_less ? 1 : 0);
      give("--vocab-size", "model.vocab",
           std::to_string((tokens + multiple - 1) / multiple * multiple));
    } else if (has_gpt2_tokenizer()) {
      out_.tokenizer_vocab = (kGpt2Tokens + multiple - 1) / multiple * multiple;
    }
  }

  /// By name, or by its files: pretrain_gpt.py has it by default (args_defaults).
  bool has_gpt2_tokenizer() {
    const auto type = args_.text("--tokenizer-type");
    if (type) return type == "GPT2BPETokenizer";
    const bool files =
        args_.find("--vocab-file") != nullptr && args_.find("--merge-file") != nullptr;
    const bool by_default = files && script("pretrain_gpt.py") != nullptr;
    if (by_default) {
      near(
          "without --tokenizer-type the vocabulary is that of pretrain_gpt.py's default, "
          "GPT2BPETokenizer");
    }
    return by_default;
  }

  void biases() {
    const bool everywhere = !args_.flag("--disable-bias-linear");
    const bool qkv = args_.flag("--add-qkv-bias");
    give(everywhere ? "" : "--add-qkv-bias", "model.qkv_bias", json_bool(everywhere || qkv));
    give("--disable-bias-linear", "model.attention_output_bias", json_bool(everywhere));
    const bool mixture = experts_of(args_, fork_) > 0;
    if (everywhere && mixture) near("experts' biases are read as none, which --num-experts has");
    give("--disable-bias-linear", "model.mlp_bias", json_bool(everywhere && !mixture));
  }

  void dropout() {
    const double attention = args_.number("--attention-dropout").value_or(0.1);
    const double residual = args_.number("--hidden-dropout").value_or(0.1);
    give("--hidden-dropout", "model.dropout", json_number(residual));
    if (attention != residual)
      give("--attention-dropout", "model.attention_dropout", json_number(attention));
  }

  void workload() {
    for (const Same& same : kSizes) copy(same, 0);
    // arguments.py: without a batch each replica has one micro-batch.
    out_.accumulation = {"--micro-batch-size", "1", args_.line("--micro-batch-size"), true};
    if (args_.find("--rampup-batch-size") != nullptr) {
      near("--rampup-batch-size is left out: all steps have the global batch of its end");
    }
    args_.find("--reset-position-ids");  // costs nothing
    const bool packed = args_.flag("--reset-attention-mask");
    give("--reset-attention-mask", "workload.documents.packing",
         packed ? R"("packed")" : R"("none")");
    if (packed && !has_own_layers(args_, fork_)) {
      near(
          "--reset-attention-mask is read as attention within documents, though Transformer Engine "
          "takes no notice of that mask (Megatron-LM issue 2357)");
    }
    read_attention(args_, out_, fork_, allowed_kernels(text_));
    give("--clip-grad", "workload.gradient_clipping",
         json_bool(args_.number("--clip-grad").value_or(1.0) > 0));
  }

  /// Tokens, where the arguments say how many a sample has.
  void training() {
    args_.exclusive("--train-iters", "--train-samples");
    const auto steps = args_.integer("--train-iters", 0);
    if (steps > 0) out_.steps = steps;
    const double sequence = static_cast<double>(args_.integer("--seq-length").value_or(0));
    if (sequence == 0) return;
    const auto samples = static_cast<double>(args_.integer("--train-samples", 0).value_or(0));
    // Megatron-DeepSpeed ends with the first of the two, and scripts leave tokens to be that.
    const double tokens = fork_.deepspeed ? args_.number("--train-tokens").value_or(0) : 0;
    if (tokens > 0) {
      out_.steps.reset();
      give("--train-tokens", "training.tokens", json_number(tokens));
    } else if (samples > 0) {
      give("--train-samples", "training.tokens", json_number(samples * sequence));
    }
  }

  /// By its name, or the one before.
  bool has_megatron_fsdp() {
    const bool custom = args_.flag("--use-custom-fsdp");
    return args_.flag("--use-megatron-fsdp") || custom;
  }

  void sharding() {
    const char *optimizer = "--use-distributed-optimizer", *torch = "--use-torch-fsdp2";
    args_.exclusive(optimizer, torch);
    args_.exclusive("--use-megatron-fsdp", torch);
    if (args_.flag(torch) && pp_ > 1) args_.contradiction(torch, "pipeline parallelism");
    const auto strategy = args_.one_of("--data-parallel-sharding-strategy",
                                       {"no_shard", "optim", "optim_grads", "optim_grads_params"});
    int stage = args_.flag(optimizer) ? 1 : 0;
    const char* by = optimizer;
    if (has_megatron_fsdp()) {
      by = "--data-parallel-sharding-strategy";
      stage = strategy == "optim_grads_params" ? 3
              : strategy == "optim_grads"      ? 2
              : strategy == "optim"            ? 1
                                               : stage;
    }
    if (args_.flag(torch)) {
      by = torch;
      stage = 3;
      give(torch, "strategy.fsdp_options.copies", R"("fsdp2")");
      give("--torch-fsdp2-no-reshard-after-forward", "strategy.fsdp_options.reshard_after_forward",
           json_bool(!args_.flag("--torch-fsdp2-no-reshard-after-forward")));
    }
    give(by, "strategy.zero_stage", std::to_string(stage));
    const std::int64_t copies = args_.integer("--num-distributed-optimizer-instances").value_or(1);
    out_.rest_shards = stage >= 2 || (stage == 1 && copies > 1);
    give("--num-distributed-optimizer-instances",
         out_.rest_shards ? "strategy.dp" : "strategy.fsdp",
         std::to_string(out_.rest_shards ? copies : 1));
  }

  void reduction() {
    give_flag("--overlap-grad-reduce", "strategy.data.overlap");
    const bool overlap = args_.flag("--overlap-grad-reduce");
    const bool shards = args_.flag("--use-distributed-optimizer") || has_megatron_fsdp();
    if (overlap && shards) {
      give_flag("--overlap-param-gather", "strategy.data.overlap_gathers");
    }
    const auto elements = args_.integer("--ddp-bucket-size");
    const auto size = [&](std::int64_t of) { return Bytes(of * types_.bytes_reduced); };
    if (overlap && !elements) {
      out_.bucket = {.least = size(kLeastBucket), .for_each_replica = size(kBucketOfReplica)};
      return;
    }
    const Bytes bucket = overlap ? size(*elements) : kWholeBucket;
    give(overlap ? "--ddp-bucket-size" : "", "strategy.data.bucket",
         json_quote(exact_text(bucket)));
  }

  /// Arguments that change nothing that a scenario says.
  void pass_over() {
    const Arguments::Option* optimizer = args_.find("--optimizer");
    if (optimizer != nullptr && !optimizer->values.empty() && optimizer->values[0].text != "adam")
      near(fmt::format("--optimizer {} (line {}) is read as Adam, with two moments of each weight",
                       optimizer->values[0].text, optimizer->line));
    for (const char* name :
         {"--mock-data", "--lr", "--ckpt-format", "--standalone", "--rdzv-backend",
          "--rdzv-endpoint", "--rdzv-id", "--tokenizer-type", "--use-mcore-models",
          "--transformer-impl", "--ntasks", "--ntasks-per-node"}) {
      args_.pass_over(name);
    }
  }

  std::string text_, file_;
  Imported out_;
  std::vector<ShellWord> words_;
  Arguments args_;
  std::int64_t tp_ = 1, pp_ = 1, cp_ = 1, layers_ = 0, hidden_ = 0, ffn_hidden_ = 0, heads_ = 0;
  Fork fork_;
  ArgumentTypes types_;
};

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  return Reading(text, file).read();
}

}  // namespace plait::megatron
