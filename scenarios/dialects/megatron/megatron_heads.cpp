// Attention's heads as Megatron-LM has them. With --multi-latent-attention (megatron/core/
// transformer/multi_latent_attention.py) sizes of their own replace --kv-channels and groups of
// queries: queries and keys have a part without positions and one with, and --qk-layernorm is the
// norms of the latents. Else --rotary-percent of a head's columns carry its position.
#include <fmt/format.h>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kHeadSize = "--kv-channels", *kGrouped = "--group-query-attention",
                     *kGroups = "--num-query-groups", *kHeadNorms = "--qk-layernorm",
                     *kTurned = "--rotary-percent", *kLatents = "--multi-latent-attention",
                     *kQueryRank = "--q-lora-rank", *kKeyRank = "--kv-lora-rank",
                     *kPlainPart = "--qk-head-dim", *kPlacedPart = "--qk-pos-emb-head-dim",
                     *kValueSize = "--v-head-dim", *kGate = "--attention-output-gate",
                     *kKeyHeads = "--num-key-value-heads";  // Megatron-DeepSpeed's

void write_latents(ExportDraft& d) {
  const Model& m = d.scenario.model;
  d.set(kLatents);
  d.set(kHeadNorms);
  if (m.q_lora_rank > 0) d.set(kQueryRank, m.q_lora_rank);
  d.set(kKeyRank, m.kv_lora_rank);
  d.set(kPlainPart, m.head_dim - m.rope_head_dim);
  d.set(kPlacedPart, m.rope_head_dim);
  d.set(kValueSize, m.value_dim());
  d.say({"model.head_dim", "model.rope_head_dim", "model.v_head_dim", "model.qk_norm"});
}

/// What is turned of a head, which Megatron-LM rounds down to whole columns.
std::int64_t turned(double part, std::int64_t head) {
  return static_cast<std::int64_t>(part * static_cast<double>(head));
}

void write_plain(ExportDraft& d) {
  const Model& m = d.scenario.model;
  d.copy(kHeadSize, "model.head_dim");
  if (m.kv_heads != m.heads) {
    d.set(kGrouped);
    d.set(kGroups, m.kv_heads);
  }
  if (m.rope_head_dim > 0) {
    const std::string part =
        fmt::format("{}", static_cast<double>(m.rope_head_dim) / static_cast<double>(m.head_dim));
    d.set(kTurned, part);
    if (turned(std::stod(part), m.head_dim) == m.rope_head_dim) d.say({"model.rope_head_dim"});
  } else {
    d.say({"model.rope_head_dim"});
  }
  if (m.v_head_dim == 0) d.say({"model.v_head_dim"});
  const bool rms_heads = m.qk_norm && m.norm == NormKind::kRmsNorm;  // the model's kind of norm
  if (rms_heads) d.set(kHeadNorms);
  if (rms_heads || !m.qk_norm) d.say({"model.qk_norm"});
}

class Heads {
 public:
  Heads(Arguments& args, Imported& out, std::int64_t hidden, std::int64_t heads)
      : args_(args), out_(out), heads_(heads), usual_(heads > 0 ? hidden / heads : 0) {}

  void read(bool rms) {
    // All of them, of which the others are of no use.
    const auto size = args_.integer(kHeadSize);
    const std::int64_t groups = args_.integer(kGroups).value_or(1);
    const double part = args_.number(kTurned).value_or(1);
    const bool norms = args_.flag(kHeadNorms);
    const auto key_heads = args_.integer(kKeyHeads);
    out_.give("model.attention_gate", json_bool(args_.flag(kGate)), args_.line(kGate));
    const Latents latents{.queries = args_.integer(kQueryRank).value_or(0),
                          .keys = args_.integer(kKeyRank).value_or(32),
                          .plain = args_.integer(kPlainPart).value_or(128),
                          .placed = args_.integer(kPlacedPart).value_or(64),
                          .values = args_.integer(kValueSize).value_or(128)};
    if (args_.flag(kLatents)) return read(latents, norms);
    if (args_.has(kKeyRank)) {
      near(
          "--kv-lora-rank without --multi-latent-attention is read as plain attention, which is "
          "what Megatron-LM does");
    }
    if (size) give(kHeadSize, "model.head_dim", *size);
    const bool grouped = args_.flag(kGrouped) || !key_heads;
    give(grouped ? kGroups : kKeyHeads, "model.kv_heads",
         args_.flag(kGrouped) ? groups : key_heads.value_or(heads_));
    const std::int64_t columns = turned(part, size.value_or(usual_));
    give(kTurned, "model.rope_head_dim", part < 1 ? columns : 0);
    give(kKeyRank, "model.kv_lora_rank", 0);
    give(kQueryRank, "model.q_lora_rank", 0);
    give(kValueSize, "model.v_head_dim", 0);
    if (norms && !rms) near("--qk-layernorm is read as RMSNorm");
    out_.give("model.qk_norm", json_bool(norms), args_.line(kHeadNorms));
  }

 private:
  struct Latents {  // defaults are Megatron-LM's
    std::int64_t queries, keys, plain, placed, values;
  };

  void read(const Latents& l, bool norms) {
    args_.exclusive(kLatents, kGrouped);
    give(kKeyRank, "model.kv_lora_rank", l.keys);
    give(kQueryRank, "model.q_lora_rank", l.queries);
    give(kPlainPart, "model.head_dim", l.plain + l.placed);
    give(kPlacedPart, "model.rope_head_dim", l.placed);
    give(kValueSize, "model.v_head_dim", l.values);
    give(kLatents, "model.kv_heads", heads_);
    if (!norms) near("--multi-latent-attention is read with norms of its latents");
    out_.give("model.qk_norm", "false", args_.line(kHeadNorms));
  }
  void give(const char* argument, const char* path, std::int64_t value) {
    out_.give(path, std::to_string(value), args_.line(argument));
  }
  void near(const std::string& what) { out_.warnings.push_back({"W008", what}); }

  Arguments& args_;
  Imported& out_;
  std::int64_t heads_, usual_;
};

}  // namespace

void write_heads(ExportDraft& d) {
  d.say({"model.kv_heads", "model.kv_lora_rank", "model.q_lora_rank"});
  if (d.scenario.model.kv_lora_rank > 0) {
    write_latents(d);
  } else {
    write_plain(d);
  }
}

void read_heads(Arguments& args, Imported& out, std::int64_t hidden, std::int64_t heads, bool rms) {
  Heads(args, out, hidden, heads).read(rms);
}

}  // namespace plait::megatron
