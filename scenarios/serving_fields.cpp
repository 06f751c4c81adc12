#include "scenarios/fields.h"

namespace plait {
namespace {

Choice<WeightFormat> formats() { return choice_of<WeightFormat>(kWeightFormats); }

Choice<std::optional<DType>> products() {
  return {{{"plain", std::nullopt}, {"fp8", DType::kFp8}, {"nvfp4", DType::kNvfp4}}};
}

const Table<RequestKind>& kind_table() {
  using K = RequestKind;
  constexpr std::int64_t kLongest = std::int64_t{1} << 28;
  static const Table<K> table(
      "serving.requests.kinds",
      {
          field("name", &K::name, Text{}, "What reports call it."),
          field("share", &K::share, Real{.min = 1e-9, .max = 1e9},
                "How many requests are of this kind, relative to the other kinds."),
          field("prompt_tokens", &K::prompt_tokens, Int{.max = kLongest}, "Mean length of prompts.")
              .required(),
          field("output_tokens", &K::output_tokens, Int{.max = kLongest}, "Mean length of answers.")
              .required(),
          field("spread", &K::spread, Real{.min = 0, .max = 1},
                "Lengths are uniform between mean * (1 - spread) and mean * (1 + spread)."),
          field("prefix_tokens", &K::prefix_tokens, Int{.min = 0, .max = kLongest},
                "In front of each prompt, besides `prompt_tokens`: a prefix that others begin with "
                "too, such as a system prompt.")
              .silent_by_default(),
          field("num_prefixes", &K::prefixes, Int{.max = 1 << 20},
                "How many prefixes there are; a conversation has one of them.")
              .silent_by_default(),
          field(
              "prefix_zipf", &K::zipf, Real{.min = 0, .max = 10},
              "The n-th prefix is drawn with a weight of n to the power of minus this; 0: evenly.")
              .silent_by_default(),
          field("turns", &K::turns, Int{.max = 1 << 12},
                "Requests of a conversation, one after the other: each prompt is all that came "
                "before, and `prompt_tokens` more.")
              .silent_by_default(),
          field("think_time", &K::think_time, Amount<Seconds>{.max = 86400},
                "From an answer to the conversation's next prompt.")
              .silent_by_default(),
      });
  return table;
}

const Table<Load>& load_table() {
  using L = Load;
  static const Table<L> table(
      "serving.requests",
      {
          field("arrivals", &L::arrivals,
                Choice<Arrivals>{{{"poisson", Arrivals::kPoisson},
                                  {"closed", Arrivals::kClosed},
                                  {"trace", Arrivals::kTrace}}},
                "poisson: independent, at `rate_per_s`. closed: `concurrency` users, each of whom "
                "asks anew when answered. trace: as the file says.")
              .otherwise("trace where `trace` is given, else closed where `concurrency` is and "
                         "`rate_per_s` is not, else poisson"),
          field("count", &L::count, Int{.max = 10'000'000}, "Requests in all; not with a trace."),
          field("rate_per_s", &L::rate_per_s, Real{.min = 1e-9, .max = 1e9},
                "Requests per second, for poisson; of conversations, those that begin."),
          field("concurrency", &L::concurrency, Int{.max = 10'000'000}, "Users, for closed."),
          field("seed", &L::seed, Int{.min = 0}, "Of arrivals, kinds and lengths."),
          field("ramp", &L::ramp, Amount<Seconds>{.max = 3600},
                "For closed: how long after one user the next asks for the first time."),
          field("trace", &L::trace, Text{},
                "Path relative to this file: CSV with the header "
                "arrival_s,prompt_tokens,output_tokens, or that of Azure's, BurstGPT's or Vidur's "
                "traces; a JSON list of such objects, or one a line; Mooncake's JSON lines.")
              .otherwise("none"),
          field("kinds", &L::kinds, List{Nested{&kind_table()}}, "Requests that are alike.")
              .otherwise("1024 prompt and 128 output tokens"),
      });
  return table;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const Table<EngineLimits>& engine_table() {
  using E = EngineLimits;
  static const Table<E> table(
      "serving.engine",
      {
          field("max_num_batched_tokens", &E::max_tokens, Int{.max = 1 << 24},
                "Tokens of a step, prompts and answers together.")
              .otherwise("8192; of vLLM 2048 on devices of less than 70 GiB and on A100s, and "
                         "max_model_len where that is more and prompts are not cut; of llama.cpp "
                         "512"),
          field("max_num_seqs", &E::max_sequences, Int{.max = 1 << 20},
                "Sequences that run at a time.")
              .otherwise("1024; of vLLM 256 on devices of less than 70 GiB and on A100s; of "
                         "llama.cpp 4; no more than max_num_batched_tokens"),
          field("block_size", &E::block_size, Int{.max = 1 << 16},
                "Tokens of a block of the key-value cache."),
          field("max_model_len", &E::max_context, Int{.max = 1 << 28},
                "Longest sequence, prompt and answer.")
              .otherwise("the longest that is asked for"),
          field("kv_cache_tokens", &E::cache_tokens, Int{.max = std::int64_t{1} << 40},
                "Tokens that the key-value cache has, of all sequences together (llama.cpp's "
                "--ctx-size; vLLM's --num-gpu-blocks-override, in tokens).")
              .otherwise("what memory leaves")
              .silent_by_default(),
          field("gpu_memory_utilization", &E::memory_utilization, Real{.min = 0.01, .max = 1},
                "Share of the device's memory for weights, activations and cache.")
              .otherwise("0.9; of llama.cpp all, or all but 1 GiB where it is to find what fits"),
          field("chunked_prefill", &E::chunked_prefill, Flag{}, "A prompt may be cut over steps."),
          field("admission", &E::admission,
                Choice<Admission>{{{"chunk", Admission::kChunk},
                                   {"prompt", Admission::kPrompt},
                                   {"sequence", Admission::kSequence}}},
                "What the cache must have room for before a request begins: the first chunk of its "
                "prompt (vLLM before spring 2026), the prompt (vLLM since), or prompt and answer, "
                "so that none is preempted (TensorRT-LLM).")
              .silent_by_default(),
          field("kernels", &E::engine,
                Choice<ServingEngine>{{{"vllm", ServingEngine::kVllm},
                                       {"tensorrt_llm", ServingEngine::kTensorRtLlm},
                                       {"llama_cpp", ServingEngine::kLlamaCpp}}},
                "Whose kernels steps run on. tensorrt_llm: residual sums, norms and casts to fp8 "
                "are part of the kernel before them, and small all-reduces are its own. llama_cpp: "
                "as vLLM's, but for gpu_memory_utilization and all-reduces, which NCCL does, and "
                "kernels.qkv is eager where it is not written.")
              .otherwise("vllm; llama_cpp where layers.deal is gpu_layers"),
          field("cuda_graphs", &E::graphs, Flag{},
                "Steps that only generate are padded to captured sizes, and issued by one launch."),
          field("custom_all_reduce", &E::own_all_reduce, Flag{},
                "Small all-reduces by the engine's own kernels on NVLink, if it has some."),
          field("step_overhead", &E::step_overhead, Sourced{Amount<Seconds>{.max = 10}},
                "What the host does between two steps of a sequence: scheduling, inputs. Of "
                "llama.cpp nothing where it is not written."),
          field("sequence_overhead", &E::sequence_overhead, Sourced{Amount<Seconds>{.max = 1}},
                "What it does besides for each sequence of a step."),
          field("async_scheduling", &E::async_scheduling, Flag{},
                "The host prepares a step while the device works on the one before."),
          field("enable_prefix_caching", &E::prefix_caching, Flag{},
                "Requests that begin alike find each other's keys and values in the cache, in "
                "whole blocks.")
              .silent_by_default(),
      });
  return table;
}

namespace {

const Table<Speculation>& speculation_table() {
  using S = Speculation;
  static const Table<S> table(
      "serving.speculative",
      {
          field("method", &S::method,
                Choice<Drafting>{{{"ngram", Drafting::kNgram},
                                  {"draft_model", Drafting::kDraftModel},
                                  {"mtp", Drafting::kMtp},
                                  {"eagle", Drafting::kEagle}}},
                "What guesses. ngram: the host, from the text so far. draft_model: `model`. mtp: "
                "the model's module for further tokens. eagle: a head of one layer.")
              .required(),
          field("num_speculative_tokens", &S::tokens, Int{.max = 64},
                "Guesses of a sequence that a step checks.")
              .required(),
          field("acceptance", &S::acceptance, Real{.min = 0, .max = 1},
                "The probability that a guess is right whose predecessors are.")
              .required(),
          field("model", &S::draft_model, Text{}, "For draft_model: a preset.").otherwise("none"),
      });
  return table;
}

const Table<EnginePool>& pool_table() {
  using P = EnginePool;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;  // the product of three can be added up
  static const Table<P> table(
      "serving.disaggregated.prefill, serving.disaggregated.decode",
      {
          field("tp", &P::tp, Int{.max = kMost}, "Tensor parallel ranks of each instance."),
          field("pp", &P::pp, Int{.max = kMost}, "Pipeline stages of each instance."),
          field("dp", &P::dp, Int{.max = kMost}, "Instances.")
              .otherwise("as many as the other pool leaves devices for"),
          field("engine", &P::limits, Nested{&engine_table()}, "How its steps are batched.")
              .otherwise("as `serving.engine`, field by field"),
      });
  return table;
}

const Table<Disaggregation>& disaggregation_table() {
  using D = Disaggregation;
  static const Table<D> table(
      "serving.disaggregated",
      {
          field("prefill", &D::prefill, Nested{&pool_table()},
                "Instances that compute prompts, on the first devices."),
          field("decode", &D::decode, Nested{&pool_table()},
                "Instances that generate, on the devices behind them."),
          field(
              "first_token", &D::first_token,
              Choice<FirstToken>{
                  {{"decode", FirstToken::kDecode}, {"prefill", FirstToken::kPrefill}}},
              "Who samples the first token and sends it to the user: the instance that generates, "
              "which computes the prompt's last token again (vLLM's NixlConnector), or the one "
              "that has computed the prompt (DistServe)."),
      });
  return table;
}

const Table<Slo>& slo_table() {
  using S = Slo;
  const Amount<Seconds> limit{.min = 1e-6, .max = 86400};
  static const Table<S> table(
      "serving.slo",
      {
          field("ttft", &S::ttft, limit, "At most so long to the first token.")
              .otherwise("no limit"),
          field("tpot", &S::tpot, limit, "At most so long per token after it, on average.")
              .otherwise("no limit"),
          field("e2el", &S::e2el, limit, "At most so long to the last token.")
              .otherwise("no limit"),
          field("attainment", &S::attainment, Real{.min = 0, .max = 1},
                "The share of requests that are to keep every limit; below it the answer is no "
                "(exit code 1). 0: no verdict."),
      });
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<LayerRule>& layers_table() {
  using R = LayerRule;
  static const Table<R> table(
      "serving.layers",
      {
          field("deal", &R::dealing,
                Choice<Dealing>{{{"even", Dealing::kEven},
                                 {"gpu_layers", Dealing::kGpuLayers},
                                 {"sequential", Dealing::kSequential},
                                 {"balanced", Dealing::kBalanced},
                                 {"balanced_low_0", Dealing::kBalancedLow0}}},
                "even: as many for each stage. gpu_layers: the last so many on devices, the rest "
                "computed by the processor (llama.cpp). sequential, balanced, balanced_low_0: as "
                "Accelerate's device_map; what no device holds is copied whenever it runs."),
          field(
              "gpu_layers", &R::gpu_layers, Int{.min = -1},
              "On devices: the output matrix, which counts as the last layer, and layers in front "
              "of it; one more than there are layers: all.")
              .otherwise("-1: as many as fit"),
          field("device_memory", &R::device_memory, IfGiven{Amount<Bytes>{}},
                "Of each device, for weights, with Accelerate's maps.")
              .otherwise("gpu_memory_utilization of it")
              .silent_by_default(),
          field("host_memory", &R::host_memory, IfGiven{Amount<Bytes>{}},
                "For weights that are copied; what is beyond is read from storage.")
              .otherwise("no limit")
              .silent_by_default(),
          field("cache_on_host", &R::cache_on_host, Flag{},
                "Keys and values stay in host memory, where attention is computed (llama.cpp's "
                "-nkvo)."),
          field("host_experts", &R::host_experts, Int{.min = -1},
                "Layers, from the first, whose experts stay in host memory, where the processor "
                "computes them (llama.cpp's --n-cpu-moe); steps of 32 and more tokens copy them to "
                "the device. -1: as few as must be.")
              .silent_by_default(),
          field("split", &R::split,
                Choice<LayerSplit>{{{"layer", LayerSplit::kLayer}, {"row", LayerSplit::kRow}}},
                "layer: each layer on one device. row: every matrix by its rows over the devices "
                "of tp, all else of a layer on one of them (llama.cpp's --split-mode row).")
              .silent_by_default(),
          field("pinned", &R::pinned, Flag{},
                "Host memory from which weights are copied is page-locked (llama.cpp's --no-mmap). "
                "Mapped files and what Accelerate loads are pageable: copies over PCIe take 2.3 "
                "times as long.")
              .silent_by_default(),
      },
      "deal");
  return table;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const Table<Serving>& serving_table() {
  using S = Serving;
  const auto part = [](auto member) {
    return [member](S & s) -> auto& { return s.precision.*member; };
  };
  using P = ServingPrecision;
  static const Table<S> table(
      "serving",
      {
          field_of<S>("dtype", part(&P::activations),
                      choice_of({DType::kBf16, DType::kFp16, DType::kFp32}),
                      "Activations, and weights where no narrower form is given.")
              .otherwise("bf16; of vLLM fp16 on devices of compute capability below 8.0"),
          field_of<S>("weights", part(&P::weights), formats(),
                      "Weights of the linear layers, widened as products read them; plain: in "
                      "`dtype`. q4_k_m and q5_k_m: llama.cpp's mixes, down projections in Q6_K in "
                      "half of the layers. Matrices whose rows are not whole blocks of 256: as "
                      "llama.cpp falls back, from q4_k to q5_0."),
          field_of<S>("expert_weights", part(&P::experts), formats(), "The same for experts.")
              .otherwise("weights")
              .silent_by_default(),
          field_of<S>("head_weights", part(&P::head), formats(), "The same for the output matrix.")
              .otherwise("plain; q6_k where weights is a mix"),
          field_of<S>("products", part(&P::products), products(),
                      "What the products of linear layers read: weights of that type, and inputs "
                      "cast to it (fp8: vLLM's --quantization fp8; nvfp4: modelopt_fp4); plain: "
                      "inputs in `dtype`."),
          field_of<S>("expert_products", part(&P::expert_products), products(),
                      "The same for experts.")
              .otherwise("products")
              .silent_by_default(),
          field_of<S>("kv_cache", part(&P::kv_cache),
                      choice_of({DType::kBf16, DType::kFp16, DType::kFp32, DType::kFp8}),
                      "Keys and values in the cache.")
              .otherwise("dtype"),
          field_of<S>("state_cache", part(&P::states),
                      choice_of({DType::kBf16, DType::kFp16, DType::kFp32}),
                      "States of state-space mixers and gated delta nets from step to step; the "
                      "last tokens of their convolutions are in `dtype`.")
              .otherwise("dtype"),
          field_of<S>("flash_attention", part(&P::fused_attention), Flag{},
                      "Fused attention kernels on devices."),
          field("layers", &S::layers, Nested{&layers_table()},
                "Which layers are on which device, and which on none."),
          field("expert_parallel", &S::expert_parallel, Flag{},
                "Experts are dealt over dp and tp, whole, instead of divided over tp (vLLM's "
                "--enable-expert-parallel)."),
          field("divide_experts", &S::divide_experts, Flag{},
                "Experts are divided over dp and tp, as vLLM's --data-parallel-size does unless "
                "they are dealt; false: each replica has all of them, as servers of their own "
                "do.")
              .silent_by_default(),
          field("engine", &S::limits, Nested{&engine_table()}, "How steps are batched."),
          field("speculative", &S::speculation, Nested{&speculation_table()},
                "Tokens are guessed and checked several in a step (vLLM's --speculative-config).")
              .silent_by_default(),
          field("disaggregated", &S::disaggregation, Nested{&disaggregation_table()},
                "Prompts are computed on some instances and answers on others.")
              .silent_by_default(),
          field("requests", &S::load, Nested{&load_table()}, "What is asked, and when."),
          field("slo", &S::slo, Nested{&slo_table()},
                "Limits that each request is to keep (`vllm bench serve --goodput`).")
              .silent_by_default(),
      });
  return table;
}

}  // namespace plait
