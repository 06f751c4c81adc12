#pragma once
// A serving step as a plan: one forward pass over the tokens that an engine has batched, of which
// some continue prompts (prefill) and some are the next token of sequences that generate (decode).
// Keys and values go into a cache that stays from step to step. Which layer runs where is a map
// from layers to places, so that tensor and pipeline parallel engines, llama.cpp's -ngl and
// Accelerate's device_map are the same plan with different maps.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/model.h"
#include "model/weight_format.h"
#include "plan/plan.h"

namespace plait {

/// Sequences of like shape that one kernel serves: `tokens` new tokens each, of which the last sees
/// `context` keys.
struct Chunk {
  std::int64_t sequences = 0, tokens = 0, context = 0;
  bool operator==(const Chunk&) const = default;
};

struct Step {
  Chunk prefill, decode;     // decode.tokens: 1, and guesses
  std::int64_t sampled = 0;  // rows whose next token is chosen
  /// Of the other replicas together, where experts are shared with them; -1: each as many as here.
  std::int64_t tokens_elsewhere = -1;
  std::int64_t tokens() const {
    return prefill.sequences * prefill.tokens + decode.sequences * decode.tokens;
  }
  /// With those of all `replicas`, this one's too.
  std::int64_t tokens_of_all(std::int64_t replicas) const {
    return tokens_elsewhere < 0 ? tokens() * replicas : tokens() + tokens_elsewhere;
  }
  bool operator==(const Step&) const = default;
};

/// What kernels compute in and what is stored.
struct ServingPrecision {
  DType activations = DType::kBf16;
  DType kv_cache = DType::kBf16;
  DType states =
      DType::kBf16;  // of mixers that have some; what their convolutions keep is as above
  /// What linear layers multiply in, if not in `activations`: weights of that type, and inputs that
  /// are cast to it. kFp8: by their own magnitudes; kNvfp4: by magnitudes that are known.
  std::optional<DType> products;
  std::optional<DType> expert_products;         // those of experts
  WeightFormat weights = WeightFormat::kPlain;  // of the linear layers without `products`
  WeightFormat experts = WeightFormat::kPlain;  // of experts without `expert_products`
  WeightFormat head = WeightFormat::kPlain;     // of the output matrix
  bool fused_attention = true;                  // flash attention, where a device computes it
  /// Element-wise work is part of the kernel before it: residual sums and norms one kernel, casts
  /// to fp8 the end of norms, activations and attention (fuse_elementwise, inference.h).
  bool fused_elementwise = false;
  /// Experts are multiplied by in an engine's kernel for all of them (MatMul::served), as vLLM and
  /// TensorRT-LLM do and llama.cpp does not.
  bool fused_experts = true;
};

/// Where a layer's weights are and who multiplies by them.
enum class Residence : std::uint8_t {
  kDevice,
  /// In host memory, computed on by the host (llama.cpp); for steps of `kOffloadedTokens` and more
  /// copied to the device, with what attention reads of the cache, whenever the layer runs.
  kProcessor,
  kHost,    // in host memory, copied to the device whenever the layer runs (Accelerate)
  kStorage  // on drives, read and copied whenever the layer runs
};

struct LayerPlace {
  std::int32_t stage = 0;
  Residence residence = Residence::kDevice;
  bool operator==(const LayerPlace&) const = default;
};

struct LayerMap {
  LayerPlace embedding, head;
  std::vector<LayerPlace> layers;
  /// Keys and values stay in host memory, and attention is computed there (llama.cpp's -nkvo);
  /// otherwise they are where their layer runs.
  bool cache_on_host = false;
  /// Layers from the first whose experts stay in host memory (llama.cpp's --n-cpu-moe). The
  /// processor computes them; of steps of `kOffloadedTokens` and more they are copied to the device
  /// whenever the layer runs.
  std::int64_t host_experts = 0;
  bool experts_on_host(std::int64_t layer) const {
    return layer < host_experts &&
           layers[static_cast<std::size_t>(layer)].residence == Residence::kDevice;
  }
};
/// llama.cpp's GGML_OP_OFFLOAD_MIN_BATCH (ggml/src/ggml-cuda/ggml-cuda.cu).
inline constexpr std::int64_t kOffloadedTokens = 32;
/// Layers in order on `stages` devices, as vLLM deals them: as many each, the remainder to the
/// stages before the last, backwards (vllm/distributed/utils.py, get_pp_indices).
LayerMap even_layers(std::int64_t layers, std::int64_t stages);

/// Who has which experts: each replica all, every one divided over tp; or the ranks of dp and tp
/// together, every one divided over all of them (vLLM's --data-parallel-size), or dealt to them
/// whole (and --enable-expert-parallel). Replicas that share experts step together.
enum class ExpertSharing : std::uint8_t { kNone, kDivided, kDealt };

struct ServingLayout {
  Mesh mesh;  // pp, dp, tp; the dp replicas run like steps
  LayerMap map;
  ExpertSharing experts = ExpertSharing::kNone;
  /// Every matrix by its rows over tp, all else on one device for each layer (llama.cpp's
  /// --split-mode row), instead of heads and columns.
  bool row_split = false;
};

/// What the cache keeps of one token in one layer on one rank: keys and values, 2 kv_heads
/// head_dim, heads repeated where tp exceeds them; or latents, kv_lora_rank + rope_head_dim, the
/// same on all ranks of tp (multi-head latent attention).
Bytes kv_bytes_per_token(const Model& model, const ServingPrecision& precision, std::int64_t tp);

/// What is kept of one sequence in one layer with states, on one rank of tp, however long it is:
/// the last conv_width - 1 tokens of the convolution's channels in the activations' type and the
/// state of each head (vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator:
/// mamba2_state_shape and gated_delta_net_state_shape). 0: the model has no such layer.
Bytes state_bytes_per_sequence(const Model& model, const ServingPrecision& precision,
                               std::int64_t tp);

/// What the cache of each layer has room for: tokens of attention, sequences of mixers with states.
struct CacheRoom {
  std::int64_t tokens = 1, sequences = 0;
};
/// Throws InputError where sizes do not divide or the model cannot be served.
Plan make_serving_plan(const Model& model, const Step& step, const ServingPrecision& precision,
                       const ServingLayout& layout, CacheRoom room);
inline Plan make_serving_plan(const Model& model, const Step& step,
                              const ServingPrecision& precision, const ServingLayout& layout,
                              std::int64_t cache_tokens) {
  return make_serving_plan(model, step, precision, layout, CacheRoom{cache_tokens, 0});
}

}  // namespace plait
