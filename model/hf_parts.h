#pragma once
// What the families of Hugging Face configurations read alike.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

// Bounds that keep every parameter count and FLOP count of a model far from 2^63.
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxWidth = 1 << 20;  // hidden, MLP, vocabulary
inline constexpr std::int64_t kMaxHeads = 1 << 12;  // also of head_dim
inline constexpr std::int64_t kMaxPositions = 1 << 30;
inline constexpr std::int64_t kMaxExperts = 1 << 16;
inline constexpr std::int64_t kMaxModules = 64;

/// Llama 4 and SmolLM3, where a file does not say which layers do not rotate.
inline constexpr std::int64_t kUnrotatedEvery = 4;

/// Throws InputError M007 for a name that transformers' ACT2FN does not have, or that is not
/// planned.
ActivationKind read_activation(HfReader& config, HfReader::Names names, std::string_view fallback);
/// Of attention weights and of residual branches; without names for the latter they have none.
/// Where nothing is stated both have `fallback`.
void read_dropout(Model& m, HfReader& config, HfReader::Names attention, HfReader::Names residual,
                  double fallback);
/// The same where the two are known already.
void set_dropout(Model& m, double residual, double attention);
/// hidden / heads unless it is stated. Throws InputError M006 where that is not whole.
void read_head_dim(Model& m, HfReader& config);
/// What positions rotate of a head, as a part of it: at the top, under one of these names, or as
/// the first of them in `rope_parameters`. After the head's size is known.
void read_partial_rotation(Model& m, HfReader& config, HfReader::Names names, double fallback);
/// Notes that the family's LayerNorm has no biases, where a plan counts them: one number in ten
/// thousand of a large model's parameters.
void assume_norm_biases(HfReader& config);
/// Notes that so many layers, whose queries and keys the family leaves as they are, are planned
/// with rotary positions: one pass over the two in each.
void assume_rotation(const Model& m, HfReader& config, std::int64_t unrotated);
/// How many layers do not rotate: those that no_rope_layers says so of, or else each
/// no_rope_layer_interval-th (Llama 4, SmolLM3).
std::int64_t unrotated_layers(const Model& m, HfReader& config);
/// Whether a layer rotates, by what no_rope_layers has of it: 0 where it does not.
bool rotates(const Json& listed);
/// LayerNorm and an ungated MLP, as GPT-2, GPT-NeoX, Falcon and BERT have them.
Model layer_norm_model();

struct LlamaDefaults {
  std::int64_t vocab, hidden, ffn_hidden, layers, heads, kv_heads, max_positions;
  bool tied_embeddings = false;
  std::string_view activation = "silu";
  /// Where hidden_act stands too, the class takes this one.
  std::string_view activation_key = "hidden_act";
};

/// RMSNorm, gated MLP, rotary positions; what llama, mistral, qwen and deepseek share.
Model read_llama_sizes(HfReader& config, const LlamaDefaults& defaults);
/// In every layer, as wide as the MLP that the file's intermediate_size is of.
void read_experts_as_wide(Model& m, HfReader& config, HfReader::Names count, std::int64_t experts,
                          std::int64_t chosen);
/// Layers whose number, counted from 1, is a multiple of decoder_sparse_step have experts.
void read_qwen_experts(Model& m, HfReader& config, std::int64_t experts, std::int64_t chosen,
                       std::int64_t width);
/// A letter for each name of a list of layers, of four kinds.
std::string letters_of(const Json& list, const char* mixer, const char* attention);

}  // namespace plait::hf
