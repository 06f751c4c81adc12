#pragma once
// Patterns of kernels' names, with where each comes from. Data of kernel_names.cpp.

#include <cstdint>
#include <string_view>

#include "reports/profile/kernel_kind.h"

namespace plait::kernel_patterns {

enum class Of : std::uint8_t { kCall, kPart, kSoftmax };

/// `pattern`: pieces between stars that stand in the name in this order, in lower case.
struct NamePattern {
  std::string_view pattern;
  KernelKind kind;
  Of of = Of::kCall;
};

using enum KernelKind;

// NCCL (src/device/generate.py: ncclDevKernel_<function>_<reduction>_<type>_<algorithm>_<protocol>,
// before 2.19 ncclKernel_<function>_...; src/device/symmetric: ncclSymkDevKernel_...). Its grouped
// sends and receives, all_to_all among them, are SendRecv: metadata tells them apart.
inline constexpr NamePattern kNccl[] = {
    {"nccl*allreduce", kAllReduce},
    {"nccl*allgather", kAllGather},
    {"nccl*reducescatter", kReduceScatter},
    {"nccl*alltoall", kAllToAll},
    {"nccl*broadcast", kBroadcast},
    {"nccl*sendrecv", kSendRecv},
    {"nccl*dev", kOtherCommunication},
    {"ncclkernel", kOtherCommunication},
    {"rcclgenerickernel", kOtherCommunication},
};

// Other libraries: DeepEP (csrc/kernels/{intranode,internode}.cu), TransformerEngine's userbuffers
// (common/comm_gemm_overlap/userbuffers/userbuffers.cu), PyTorch's symmetric memory
// (csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu), vLLM's custom_all_reduce.cuh,
// NVSHMEM.
inline constexpr NamePattern kOtherLibraries[] = {
    {"deep_ep::*notify", kAllToAll, Of::kPart},
    {"deep_ep::*dispatch", kAllToAll},
    {"deep_ep::*combine", kAllToAll},
    {"deep_ep::", kAllToAll, Of::kPart},
    {"hybrid_ep::", kAllToAll},
    {"userbuffers_*_rs", kReduceScatter},
    {"userbuffers_*_ag", kAllGather},
    {"kuserbuffers_", kSendRecv},
    {"multimem_all_reduce", kAllReduce},
    {"one_shot_all_reduce", kAllReduce},
    {"two_shot_all_reduce", kAllReduce},
    {"multimem_one_shot", kAllReduce},
    {"multimem_all_gather", kAllGather},
    {"cross_device_reduce", kAllReduce},
    {"nvshmem", kOtherCommunication},
};

// FlashAttention (csrc/flash_attn/src/flash_{fwd,bwd}_*; hopper/flash_{fwd,bwd}_kernel_sm90.h;
// flash_attn/cute), cuDNN's SDPA engines (and
// aten/src/ATen/native/cudnn/MHA.cpp: unpack_cudnn), PyTorch's memory-efficient attention
// (aten/src/ATen/native/transformers/cuda/mem_eff_attention: fmha_cutlassF_*, fmha_cutlassB_*) and
// flex attention (torch/_inductor/kernel/flex). Softmax where it is not fused: PyTorch
// (native/cuda/PersistentSoftmax.cuh, SoftMax.cu), Megatron-LM, apex and TransformerEngine
// (scaled_*softmax*). The third last argument of softmax_warp_forward's template says that it is of
// logarithms, as a loss has it.
inline constexpr NamePattern kAttentionNames[] = {
    {"softmax_warp_*ward<*, true, ", kCrossEntropy},
    {"cunn_softmax*logsoftmax", kCrossEntropy},
    {"cunn_spatialsoftmax*logsoftmax", kCrossEntropy},
    {"flash_bwd_dot_do_o", kAttention, Of::kPart},
    {"flash_bwd_convert_dq", kAttention, Of::kPart},
    {"flash_bwd_convert_dkv", kAttention, Of::kPart},
    {"flash_bwd_clear", kAttention, Of::kPart},
    {"flash_fwd_splitkv_combine", kAttention, Of::kPart},
    {"flashattnfwdcombine", kAttention, Of::kPart},
    {"flashattnbwdpreprocess", kAttention, Of::kPart},
    {"flashattnbwdpostprocess", kAttention, Of::kPart},
    {"flashattentionbackwardpreprocess", kAttention, Of::kPart},
    {"flashattentionbackwardpostprocess", kAttention, Of::kPart},
    {"compute_dot_do_o", kAttention, Of::kPart},
    {"convert_dq_to_16bits", kAttention, Of::kPart},
    {"philox::unpack_cudnn", kAttention, Of::kPart},
    {"flash_fwd", kAttention},
    {"flash_bwd", kAttention},
    {"flashattn", kAttention},
    {"flash_attn", kAttention},
    {"flashattention", kAttention},
    {"flash_fprop", kAttention},
    {"flash_bprop", kAttention},
    {"native_sdpa", kAttention},
    {"fmha", kAttention},
    {"flex_attention", kAttention},
    {"attention_kernel", kAttention},
    {"attentionkernel", kAttention},
    {"softmax_warp_", kAttention, Of::kSoftmax},
    {"cunn_softmax", kAttention, Of::kSoftmax},
    {"masked_softmax", kAttention, Of::kSoftmax},
    {"scaled_softmax", kAttention, Of::kSoftmax},
};

// multi_tensor_apply of PyTorch (native/cuda/MultiTensorApply.cuh: fused and foreach optimizers,
// gradient norms) and of apex and TransformerEngine; of FSDP2's foreach copies the functor tells.
inline constexpr NamePattern kOptimizerNames[] = {
    {"multi_tensor_apply_kernel*copy", kElementwise},
    {"multi_tensor_apply_kernel*zero", kElementwise},
    {"multi_tensor_apply", kOptimizer},
    {"multi_tensor", kOptimizer},
    {"multitensorapply", kOptimizer},
    {"adam", kOptimizer},
    {"normtwoops", kOptimizer},
    {"lpnorm_cleanup", kOptimizer},
};

// Losses: PyTorch (native/cuda/Loss.cu), Megatron-LM and TransformerEngine (Triton), Liger,
// Unsloth, flash-attn's.
inline constexpr NamePattern kLossNames[] = {
    {"cross_entropy", kCrossEntropy}, {"crossentropy", kCrossEntropy}, {"nll_loss", kCrossEntropy},
    {"log_softmax", kCrossEntropy},   {"logsoftmax", kCrossEntropy},   {"logsumexp", kCrossEntropy},
};

// TorchInductor: triton_<poi|red|per|tem>_fused_<ATen ops in their order> (torch/_inductor/codegen/
// triton.py). A kernel that fuses several counts as the first of these that is among them.
inline constexpr NamePattern kTriton[] = {
    {"triton_tem_*mm", kMatMul},
    {"triton_mm", kMatMul},
    {"triton_bmm", kMatMul},
    {"triton_*_softmax", kAttention, Of::kSoftmax},
    {"triton_*rsqrt", kNorm},
    {"triton_*layer_norm", kNorm},
    {"triton_*rms_norm", kNorm},
    {"triton_*embedding", kEmbedding},
    {"triton_*silu", kActivation},
    {"triton_*gelu", kActivation},
    {"triton_*sigmoid", kActivation},
    {"triton_*tanh", kActivation},
    {"triton_*_erf", kActivation},
    {"triton_*relu", kActivation},
    {"triton_*_cos_", kRope},
    {"triton_*_sin_", kRope},
    {"triton_*view_as_complex", kRope},
    {"triton_*topk", kRouting},
    {"triton_poi_", kElementwise},
    {"triton_red_", kElementwise},
    {"triton_per_", kElementwise},
    {"triton_for_", kElementwise},
};

// cuBLAS (ampere_*gemm*, sm80_xmma_gemm_*, sm90_xmma_gemm_*, nvjet_*, cutlass_80_tensorop_*,
// gemv, splitKreduce_kernel), CUTLASS, Triton's fused experts, DeepGEMM, grouped_gemm, and rocBLAS
// (Cijk_*).
inline constexpr NamePattern kProductNames[] = {
    {"splitkreduce", kMatMul, Of::kPart},
    {"gemm", kMatMul},
    {"gemv", kMatMul},
    {"gemk1", kMatMul},
    {"nvjet", kMatMul},
    {"xmma", kMatMul},
    {"cutlass*tensorop", kMatMul},
    {"cutlass::kernel", kMatMul},
    {"cutlass::device_kernel", kMatMul},
    {"fused_moe_kernel", kMatMul},
    {"matmul", kMatMul},
    {"cijk_", kMatMul},
};

// State-space mixers (mamba_ssm/ops/triton/ssd_*.py, csrc/selective_scan), causal-conv1d,
// flash-linear-attention (fla/ops).
inline constexpr NamePattern kRecurrenceNames[] = {
    {"causal_conv1d", kRecurrence},      {"selective_scan", kRecurrence},
    {"_chunk_scan", kRecurrence},        {"_chunk_state", kRecurrence},
    {"_chunk_cumsum", kRecurrence},      {"_state_passing", kRecurrence},
    {"_bmm_chunk", kRecurrence},         {"delta_rule", kRecurrence},
    {"chunk_local_cumsum", kRecurrence}, {"chunk_fwd_", kRecurrence},
    {"chunk_bwd_", kRecurrence},         {"fused_recurrent", kRecurrence},
    {"recompute_w_u", kRecurrence},      {"solve_tril", kRecurrence},
};

// Norms: PyTorch (native/cuda/layer_norm_kernel.cu), apex (cuApply*Norm, cuCompute*), its fast
// layer norm and TransformerEngine (ln_*, rmsnorm_*_kernel), Liger and Unsloth; of a norm spelled
// out in Python x^2, mean and rsqrt, whose products are among the elementwise ones.
inline constexpr NamePattern kNormNames[] = {
    {"layer_norm", kNorm},
    {"layernorm", kNorm},
    {"rmsnorm", kNorm},
    {"rms_norm", kNorm},
    {"rms_layernorm", kNorm},
    {"cuapplylayernorm", kNorm},
    {"cuapplyrmsnorm", kNorm},
    {"cucomputegradinput", kNorm},
    {"cucomputepartgradgammabeta", kNorm},
    {"cucomputegradgammabeta", kNorm},
    {"gammabetabackward", kNorm},
    {"rowwisemoments", kNorm},
    {"ln_fwd", kNorm},
    {"ln_bwd", kNorm},
    {"group_norm", kNorm},
    {"l2norm_", kNorm},
    {"rsqrt_kernel", kNorm},
    {"pow_tensor_scalar", kNorm},
    {"meanops", kNorm},
};

// Activations: PyTorch (native/cuda/Activation*.cu), TransformerEngine (common/activation,
// cast_gated_kernels.cuh: gated_kernel), Liger, Unsloth. Rotary embeddings: TransformerEngine and
// apex (fused_rope_*), flash-attn (rotary_kernel), Liger, Unsloth; spelled out, cos and sin alone
// tell. Embeddings: PyTorch (native/cuda/{Indexing,Embedding,EmbeddingBackwardKernel}.cu). Routing:
// PyTorch's topk (native/cuda/TensorTopK.cu), TransformerEngine (common/permutation, fused_router),
// grouped_gemm's permute, vLLM's and SGLang's moe_align.
inline constexpr NamePattern kRestOfTheLayer[] = {
    {"silu", kActivation},
    {"swiglu", kActivation},
    {"gelu", kActivation},
    {"geglu", kActivation},
    {"gated_kernel", kActivation},
    {"gated_act", kActivation},
    {"sigmoid_kernel", kActivation},
    {"tanh_kernel", kActivation},
    {"relu", kActivation},
    {"threshold_kernel", kActivation},
    {"rope", kRope},
    {"rotary", kRope},
    {"cos_kernel", kRope},
    {"sin_kernel", kRope},
    {"indexselectlargeindex", kEmbedding},
    {"indexselectsmallindex", kEmbedding},
    {"vectorized_gather_kernel", kEmbedding},
    {"embedding", kEmbedding},
    {"krn_partial", kEmbedding},
    {"compute_num_of_partial_segments", kEmbedding},
    {"sum_and_scatter", kEmbedding},
    {"compute_grad_weight", kEmbedding},
    {"topk", kRouting},
    {"radixfindkth", kRouting},
    {"bitonicsort", kRouting},
    {"permute_kernel", kRouting},
    {"moe_", kRouting},
    {"fused_router", kRouting},
    {"sort_chunks", kRouting},
};

// PyTorch's pointwise and reduction kernels (native/cuda/{CUDALoops,Reduce}.cuh, Shape.cu,
// IndexKernel.cu, Dropout.cu), FSDP2's chunk_cat and split_with_sizes_copy
// (native/cuda/TensorShape.cu), TransformerEngine's casts.
inline constexpr NamePattern kElementwiseNames[] = {
    {"elementwise_kernel", kElementwise},
    {"catarraybatchedcopy", kElementwise},
    {"chunk_cat", kElementwise},
    {"split_with_sizes_copy", kElementwise},
    {"reduce_kernel", kElementwise},
    {"fused_dropout", kElementwise},
    {"dropout", kElementwise},
    {"cast_transpose", kElementwise},
    {"transpose", kElementwise},
    {"fillfunctor", kElementwise},
    {"cast_kernel", kElementwise},
    {"unary_kernel", kElementwise},
    {"amax_kernel", kElementwise},
    {"quantize", kElementwise},
    {"quant_kernel", kElementwise},
    {"cast_fp8", kElementwise},
    {"hadamard", kElementwise},
    {"triu_tril", kElementwise},
    {"distribution_", kElementwise},
    {"tensor_kernel_scan", kElementwise},
    {"copy_kernel", kElementwise},
    {"copy_device_to_device", kElementwise},
    {"index_put", kElementwise},
    {"scatter_gather", kElementwise},
    {"bias_add", kElementwise},
    {"bias_dropout_add", kElementwise},
};

}  // namespace plait::kernel_patterns
