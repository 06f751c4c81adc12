#include "scenarios/systems.h"

namespace plait {
namespace {

constexpr System kSystems[] = {
    {"PyTorch DDP", "pytorch-ddp", "data-parallel", "batch over dp"},
    {"Parameter servers, colocated", "parameter-server", "parameter-server",
     "batch over dp, optimizer over servers among the workers"},
    {"Parameter servers, stale", "parameter-server-stale", "parameter-server",
     "batch over dp, optimizer over servers of their own, one step late"},
    {"PyTorch FSDP, FULL_SHARD", "fsdp-full-shard", "fsdp", "batch, parameters over fsdp"},
    {"PyTorch FSDP, SHARD_GRAD_OP", "fsdp-shard-grad-op", "fsdp",
     "batch, parameters over fsdp, gathered once a step"},
    {"PyTorch FSDP, HYBRID_SHARD", "fsdp-hybrid-shard", "fsdp",
     "parameters over the node, replicas over nodes"},
    {"Lightning, torchtitan 2D", "torchtitan-2d", "hybrid", "fsdp x tp, sequence parallel"},
    {"torchtitan 4D", "torchtitan-4d", "hybrid", "fsdp x tp x cp x pp"},
    {"torchtitan, async TP", "torchtitan-async-tp", "tensor-overlap",
     "fsdp x tp, products in tp pieces"},
    {"MaxText (JAX), fsdp", "maxtext-fsdp", "recomputation",
     "parameters over fsdp, named results kept"},
    {"DeepSpeed ZeRO-1", "deepspeed-zero-1", "zero", "optimizer over dp"},
    {"DeepSpeed ZeRO-2", "deepspeed-zero-2", "zero", "optimizer, gradients over dp"},
    {"DeepSpeed ZeRO-3", "deepspeed-zero-3", "zero", "optimizer, gradients, parameters over dp"},
    {"DeepSpeed ZeRO++", "deepspeed-zero-plus-plus", "zero-plus-plus",
     "parameters over nodes, a second shard within, fewer bits between"},
    {"DeepSpeed ZeRO-Offload", "deepspeed-zero-offload", "offload",
     "optimizer, gradients over dp, in host memory"},
    {"DeepSpeed ZeRO-Infinity", "deepspeed-zero-infinity", "offload",
     "optimizer, gradients, parameters over dp, on drives"},
    {"PyTorch FSDP, CPU offload", "fsdp-cpu-offload", "offload",
     "parameters over fsdp, in host memory"},
    {"QLoRA, bitsandbytes", "qlora-llama-65b", "qlora", "nothing; frozen matrices in 4 bits"},
    {"FSDP-QLoRA", "fsdp-qlora-llama-2-70b", "qlora",
     "batch, frozen matrices in 4 bits and adapters over fsdp"},
    {"Fairscale sharded DDP", "fairscale-sharded-ddp", "zero", "optimizer, gradients over dp"},
    {"Megatron-LM 3D", "megatron-lm-3d", "hybrid", "tp x pp x dp, interleaved"},
    {"Megatron-LM, TP overlap", "megatron-lm-tp-overlap", "tensor-overlap",
     "tp x pp, products in tp pieces"},
    {"Megatron-LM context parallel", "megatron-lm-context-parallel", "sequence-parallelism",
     "tokens over cp, keys round a ring"},
    {"Megatron-LM MoE, Mixtral", "megatron-moe-mixtral-8x7b", "expert-parallelism",
     "experts over ep, the rest over dp x ep, pp"},
    {"Megatron-LM MoE, parallel folding", "megatron-moe-qwen3-235b", "expert-parallelism",
     "experts over ep x tp, attention over tp, pp"},
    {"DeepSeek-V3", "deepseek-v3", "deepseek-v3",
     "experts over ep, the rest over dp x ep, layers over pp in a V"},
    {"Naive model parallelism, device_map", "naive-model-parallel", "pipeline",
     "layers over pp, one stage at work"},
    {"GPipe", "gpipe", "pipeline", "layers over pp"},
    {"HexGen, asymmetric", "hexgen-asymmetric", "asymmetric", "layers over pp, tp by stage"},
    {"Zero Bubble, ZB-1p", "zero-bubble-1p", "zero-bubble", "layers over pp, backward in two"},
    {"Zero Bubble, ZB-2p", "zero-bubble-2p", "zero-bubble",
     "layers over pp, backward in two, twice the activations"},
    {"Zero Bubble, ZB-V", "zero-bubble-v", "zero-bubble", "layers over pp in a V, backward in two"},
    {"V-Half", "zero-bubble-v-half", "zero-bubble",
     "layers over pp in a V, half of the activations"},
    {"V-Min", "zero-bubble-v-min", "zero-bubble",
     "layers over pp in a V, a third of the activations"},
    {"DualPipe", "dualpipe", "zero-bubble", "layers over pp from both ends, parameters twice"},
    {"DualPipeV", "dualpipe-v", "zero-bubble", "layers over pp in a V, backward in two"},
    {"DeepSpeed Ulysses", "deepspeed-ulysses", "sequence-parallelism",
     "tokens over cp, exchanged for heads"},
    {"USP, hybrid of Ulysses and ring", "usp-hybrid", "sequence-parallelism",
     "tokens over rings of groups that exchange heads"},
    {"SageMaker model parallel", "sagemaker-model-parallel", "hybrid", "tp x pp x sharded dp"},
    {"vLLM", "vllm-llama-3.1-70b", "vllm", "weights and cache over tp x pp, requests over dp"},
    {"vLLM, prefix caching", "vllm-llama-3.1-70b-prefix-caching", "vllm",
     "weights and cache over tp, blocks of prompts that begin alike once"},
    {"vLLM, speculative decoding", "vllm-llama-3.1-70b-eagle", "vllm",
     "weights and cache over tp, guesses checked several a step"},
    {"vLLM, disaggregated", "vllm-llama-3.1-70b-disaggregated", "vllm",
     "prompts on some instances, answers on others, each over tp"},
    {"vLLM, mixture of experts", "vllm-mixtral-8x7b", "vllm",
     "weights and cache over tp, every expert too, requests over dp"},
    {"vLLM, expert parallel", "vllm-deepseek-v3", "vllm",
     "weights over tp, experts whole over tp x dp, a cache of latents"},
    {"llama.cpp, Ollama", "llama-cpp-7b-q4_0", "llama-cpp", "layers over GPUs and the processor"},
    {"Accelerate device_map", "accelerate-device-map-opt-30b", "device-map",
     "layers over GPUs, host memory, drives"},
};

}  // namespace

std::string System::preset_path() const {
  return std::string("scenarios/systems/") + preset + ".json";
}
std::string System::page_path() const { return std::string("docs/strategies/") + page + ".md"; }

std::span<const System> systems() { return kSystems; }

}  // namespace plait
