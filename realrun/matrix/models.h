#pragma once
// The models of the matrix, as small as their parts allow (4 heads, so that tp = 4 exists; 4 layers
// only where the pipeline needs them): in bf16 every layer adds rounding errors, and the tolerance
// leaves room for those of a few layers.

#include <cstdint>

#include "model/model.h"

namespace plait::matrix_models {

inline constexpr std::int64_t kSequence = 8;

/// Grouped queries, rotary positions, gated MLP, no biases, untied.
Model llama();
/// Biases everywhere, learned positions, tied embeddings, dropout.
Model gpt();
/// Biases in the query, key and value projection only; tied.
Model qwen();
/// Attention and MLP in parallel, no gate; heads wider than hidden / heads.
Model falcon();
/// The same with one norm in front of both, tied.
Model falcon_7b();
/// The same with biases and dropout, and a partial rotation.
Model gpt_neox();
/// And with one norm in front of both, and a bias of the output matrix.
Model phi();
/// No positions at all, untied, dropout without biases.
Model plain();
/// Its derivative jumps at zero: where bf16 rounds a partial sum to the other side, a whole term of
/// the gradient comes or goes. So it is not split over tp here.
Model relu();
/// Two of four experts per token in every layer.
Model mixtral();
/// A dense layer first, then experts beside one that sees every token.
Model deepseek();
/// Llama and Mixtral whose heads' queries and keys have norms.
Model qwen3();
Model qwen3_moe();
/// Llama whose queries see three tokens, in every layer and in every second one, and Mixtral with
/// windows of two behind a first layer that sees all.
Model mistral();
/// With norms of what branches add.
Model gemma();
/// Llama with norms of what branches add alone, and of all heads' queries and keys.
Model olmo_2();
Model gpt_oss();
/// Multi-head latent attention: heads of 8 + 4 columns with values of 6, latents of 20 and 12.
Model latent();
/// The same without a latent of the queries.
Model latent_keys();
/// A dense layer first, then experts beside one that sees every token, with latent attention.
Model deepseek_v3();
/// Hybrids: a layer each of state-space mixer, attention, MLP and mixer again, in Nemotron-H's
/// letters; mixers with an MLP in each layer around one of attention, tied; with experts.
Model nemotron_h();
Model granite();
Model nemotron_moe();
/// State-space mixers alone.
Model mamba2();
/// Gated delta nets and attention with a gate, norms of heads and a partial rotation: behind each
/// experts, and one that every token sees through a gate; an MLP; nothing, and no attention.
Model qwen3_next();
Model qwen3_5();
Model delta_net();
/// BERT: GPT's parts, but that tokens see all others, norms stand behind the residual sums and the
/// embedding, and a table of two texts and the masked-LM head come in.
Model bert();
/// The same as Megatron-LM has it, with norms in front and none behind the embedding.
Model megatron_bert();
/// Every token meets every expert: where bf16 rounds logits of ranks otherwise, none is chosen in
/// another's place. So this one is split over tp and cp here.
Model all_experts();

}  // namespace plait::matrix_models
