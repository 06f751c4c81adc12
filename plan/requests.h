#pragma once
// What is asked of a server and within which limits it batches: for serving what a workload
// (plan/workload.h) is for training.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "plan/serving.h"
#include "plan/speculation.h"

namespace plait {

/// Requests of one kind: lengths uniform in [mean (1 - spread), mean (1 + spread)]. A prompt is a
/// prefix that others have too, what its conversation came to before, and `prompt_tokens` that are
/// new (vLLM's benchmarks: prefix_repetition, and benchmark_serving_multi_turn.py).
struct RequestKind {
  std::string name = "all";
  double share = 1;  // relative to the other kinds' shares
  std::int64_t prompt_tokens = 1024, output_tokens = 128;
  double spread = 0;
  std::int64_t prefix_tokens = 0;  // of the prefix, besides the above
  std::int64_t prefixes = 1;       // that there are; a conversation has one of them
  double zipf = 0;                 // the n-th has the weight n^-zipf; 0: all the same
  std::int64_t turns = 1;          // requests of a conversation, one after the other
  Seconds think_time = {};         // from an answer to the conversation's next prompt
};

/// kPoisson: independent arrivals at a mean rate. kClosed: so many users, each of whom asks anew
/// when answered. kTrace: as a file says.
enum class Arrivals : std::uint8_t { kPoisson, kClosed, kTrace };

struct Load {
  Arrivals arrivals = Arrivals::kPoisson;
  std::int64_t count = 1000;
  double rate_per_s = 1;         // kPoisson: of conversations, of one request by default
  std::int64_t concurrency = 8;  // kClosed
  Seconds ramp;                  // kClosed: between the first requests of one user and the next
  std::int64_t seed = 1;
  std::string trace;               // kTrace: path
  std::vector<RequestKind> kinds;  // none: RequestKind{}
  std::int64_t unanswered = 0;     // requests of the trace that failed, and are left out
};

/// Whose kernels a step runs on: vLLM's; TensorRT-LLM's, which fuses element-wise work
/// (ServingPrecision::fused_elementwise) and reduces small buffers by a kernel of its own; or
/// llama.cpp's, priced as vLLM's but for those of experts (ServingPrecision::fused_experts) and for
/// reductions, which NCCL does, and which leaves less of a device's memory free.
enum class ServingEngine : std::uint8_t { kVllm, kTensorRtLlm, kLlamaCpp };

/// What has to be free before a waiting request is admitted: blocks for what the step computes of
/// it, for the whole of what is known of its sequence (vLLM's scheduler_reserve_full_isl, of pull
/// request 37307, on by default since spring 2026), or for all that its sequence may come to, which
/// it then keeps (TensorRT-LLM's GUARANTEED_NO_EVICT).
enum class Admission : std::uint8_t { kChunk, kPrompt, kSequence };

/// How an engine batches and what it keeps for its cache: vLLM's names and, for the first three,
/// the values that it takes for `vllm serve` on GPUs of 70 GiB and more (EngineArgs,
/// get_batch_defaults).
struct EngineLimits {
  std::int64_t max_tokens = 8192;     // of a step (max_num_batched_tokens)
  std::int64_t max_sequences = 1024;  // that run at a time (max_num_seqs)
  std::int64_t block_size = 16;       // tokens of a block of the cache
  std::int64_t max_context = 0;       // longest sequence (max_model_len); 0: what the load needs
  std::int64_t cache_tokens = 0;      // of all sequences together; 0: what memory leaves
  double memory_utilization = 0.9;    // of the device, for everything (gpu_memory_utilization)
  bool chunked_prefill = true;        // a prompt may be cut over steps
  Admission admission = Admission::kPrompt;
  ServingEngine engine = ServingEngine::kVllm;
  bool graphs = true;          // CUDA graphs for steps that only generate
  bool own_all_reduce = true;  // unless --disable-custom-all-reduce
  /// The host's part of a step, while which the device idles: scheduling and preparing inputs.
  /// Vidur's profile of vLLM on an A100 host, batch 8: 0.04 and 0.14 ms (cpu_overheads.csv,
  /// medians). What it does per sequence there (0.03 ms) vLLM has since moved to other processes.
  Seconds step_overhead = Seconds(0.18e-3);
  Seconds sequence_overhead;
  /// The host prepares a step while the device works on the one before (vLLM's --async-scheduling,
  /// TensorRT-LLM's overlap scheduler).
  bool async_scheduling = false;
  /// Blocks of prompts and answers are found again by requests that begin alike
  /// (--enable-prefix-caching; serving/prefix_cache.h).
  bool prefix_caching = false;
};

/// How layers are dealt to places (serving/layer_maps.h).
enum class Dealing : std::uint8_t {
  kEven,         // as many for each stage (vLLM)
  kGpuLayers,    // the last `gpu_layers` on devices, the rest on the processor (llama.cpp)
  kSequential,   // devices filled one after the other (Accelerate)
  kBalanced,     // devices filled alike (Accelerate's "auto" and "balanced")
  kBalancedLow0  // the same, as little as possible on the first
};

/// How llama.cpp deals a model to several devices.
enum class LayerSplit : std::uint8_t {
  kLayer,  // each layer on one device
  kRow     // every matrix by its rows over the devices of tp
};

struct LayerRule {
  Dealing dealing = Dealing::kEven;
  std::int64_t gpu_layers = -1;  // kGpuLayers: the head, then layers from the last; -1: what fits
  /// For weights, of each device; not given: memory_utilization of it.
  std::optional<Bytes> device_memory = {};
  /// For weights that are copied; what is beyond is on storage. Not given: no limit.
  std::optional<Bytes> host_memory = {};
  bool cache_on_host = false;  // keys and values in host memory, attention on the processor
  /// Of the first so many layers in host memory, on the processor; -1: as few as must be.
  std::int64_t host_experts = 0;
  LayerSplit split = LayerSplit::kLayer;
  /// Host memory that copies to devices come from is page-locked, not pageable.
  bool pinned = false;

  /// Not all of the layers and their caches are sure to be on devices.
  bool leaves_devices() const {
    return dealing != Dealing::kEven || cache_on_host || host_experts != 0;
  }
  /// Weights that stay in host memory are llama.cpp's mapped file; Accelerate reads them into it.
  bool is_mapped() const {
    return !pinned && (dealing == Dealing::kEven || dealing == Dealing::kGpuLayers);
  }
};

/// Every layer keeps the keys and values of all tokens: none has a window or a state.
inline bool keeps_all_tokens(const Model& m) {
  for (std::int64_t l = 0; l < m.layers; ++l) {
    if (m.has_window(l) || m.parts_of(l).mixer != Mixer::kAttention) return false;
  }
  return true;
}

/// Service level objectives: limits that each request is to keep, and how many requests are to. A
/// request is good where it keeps every limit that is stated (`vllm bench serve --goodput`); the
/// share of good ones is the attainment, of which DistServe asks 90 % (Zhong et al. 2024).
struct Slo {
  Seconds ttft, tpot, e2el;  // to the first token, per token after it, to the last; 0: no limit
  double attainment = 0.9;
  bool any() const { return ttft.value > 0 || tpot.value > 0 || e2el.value > 0; }
};

/// Instances of one role: those that compute prompts, or those that generate.
struct EnginePool {
  std::int64_t tp = 1, pp = 1;  // of each instance
  std::int64_t dp = 0;          // instances; 0: as many as the other pool leaves devices for
  EngineLimits limits;
  std::int64_t devices() const { return tp * pp * dp; }
};

/// Who samples the first token of an answer and sends it to the user: the instance that generates,
/// which computes the prompt's last token again (vLLM's NixlConnector behind its proxies), or the
/// one that has computed the prompt (DistServe).
enum class FirstToken : std::uint8_t { kDecode, kPrefill };

/// Prefill and decode on instances of their own; between them goes the cache of each request.
struct Disaggregation {
  EnginePool prefill, decode;  // devices in this order
  FirstToken first_token = FirstToken::kDecode;
  bool any() const { return decode.dp > 0; }
};

/// What a scenario says of serving.
struct Serving {
  ServingPrecision precision;
  LayerRule layers;
  bool expert_parallel = false;  // ExpertSharing::kDealt
  bool divide_experts = false;   // ExpertSharing::kDivided, unless they are dealt
  EngineLimits limits;
  Speculation speculation;
  Disaggregation disaggregation;
  Load load;
  Slo slo;
};

}  // namespace plait
