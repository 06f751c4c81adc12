#include "reports/profile/kernel_names.h"

#include <gtest/gtest.h>

namespace plait::kernel_names_test {

using enum KernelKind;

struct Named {
  const char* name;
  KernelKind kind;
};

// As torch.profiler prints them.
constexpr Named kNamed[] = {
    {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", kMatMul},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
     "segment_"
     "k_off_kernel__5x_cublas",
     kMatMul},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", kMatMul},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>("
     "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)",
     kMatMul},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float>(float)",
     kMatMul},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(Params)", kMatMul},
    {"void flash::enable_sm90<flash_attncuteflash_fwd_sm90FlashAttentionForwardSm90>()",
     kAttention},
    {"void "
     "causal_conv1d_channellast_bwd_kernel<Causal_conv1d_channellast_bwd_kernel_traits<128>>()",
     kRecurrence},
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
     "TensorIteratorBase&)::{lambda()#3}>(int)",
     kElementwise},
    {"void at::native::vectorized_elementwise_kernel<4, "
     "at::native::threshold_kernel_impl<float>>()",
     kActivation},
    {"void vllm::scaled_fp8_quant_kernel<c10::BFloat16>(c10::Float8_e4m3fn*)", kElementwise},
    {"void transformer_engine::normalization::rmsnorm_bwd_finalize_tuned_kernel<>(Params)", kNorm},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::Half, float, c10::Half, "
     "at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::Half*)",
     kCrossEntropy},
    {"void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<>()", kUnknown},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(float)",
     kMatMul},
    {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1", kMatMul},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
     "cutlass::bfloat16_t>, false, true>(Flash_fwd_params)",
     kAttention},
    {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128>>("
     "Flash_bwd_params)",
     kAttention},
    {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::"
     "CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>>>>>>(flash::Params)",
     kAttention},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x64x128_4x1x1_kernel0_0",
     kAttention},
    {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
     kAttention},
    {"triton_tem_fused_flex_attention_1", kAttention},
    {"triton_tem_fused_mm_7", kMatMul},
    {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", kNorm},
    {"triton_poi_fused_mul_silu_3", kActivation},
    {"triton_red_fused__log_softmax_nll_loss_forward_9", kCrossEntropy},
    {"triton_poi_fused_add_4", kElementwise},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, "
     "false>(int)",
     kNorm},
    {"void cuApplyRMSNorm<c10::BFloat16, float, c10::BFloat16>(c10::BFloat16*)", kNorm},
    {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<>(Params)", kNorm},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
     "silu_kernel(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul>>(int)",
     kActivation},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
     "at::TensorIteratorBase&)>(int)",
     kActivation},
    {"void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(int)", kRope},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, 2>(int)",
     kEmbedding},
    {"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 11, "
     "false, false>(c10::BFloat16*)",
     kAttention},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, "
     "false>(float*)",
     kCrossEntropy},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, "
     "at::native::"
     "(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)",
     kCrossEntropy},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(int)",
     kOptimizer},
    {"void at::native::(anonymous "
     "namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<"
     "2>, at::native::CopyFunctor<float, float, 2, 1, 1>>(int)",
     kElementwise},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4, 64, "
     "64>(int)",
     kElementwise},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::func_wrapper_t<>>>"
     "(int)",
     kElementwise},
    {"void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128>>(SSMParamsBase)",
     kRecurrence},
    {"_permute_kernel", kRouting},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kAllReduce},
    {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", kAllGather},
    {"ncclDevKernel_ReduceScatter_Sum_f32_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)",
     kReduceScatter},
    {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", kSendRecv},
    {"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kBroadcast},
    {"ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kOtherCommunication},
    {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", kAllToAll},
    {"at::cuda::philox::unpack_cudnn(at::PhiloxCudaState, long*, long*)", kAttention},
    {"void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, true, float>(float "
     "const*)",
     kOptimizer},
    {"void at::native::(anonymous namespace)::compute_num_of_partial_segments<long>(long const*)",
     kEmbedding},
    {"my_very_own_kernel(float*)", kUnknown},
};

TEST(KernelNames, SayWhatAKernelDoes) {
  for (const Named& n : kNamed) {
    EXPECT_EQ(name_of(kernel_name(n.name).kind), name_of(n.kind)) << n.name;
  }
}

TEST(KernelNames, PartsOfACallAreNoCalls) {
  EXPECT_TRUE(kernel_name("void cublasLt::splitKreduce_kernel<32, 16, int>(float)").part);
  EXPECT_TRUE(kernel_name("void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits>()").part);
  EXPECT_TRUE(kernel_name("void flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits>()").part);
  EXPECT_FALSE(kernel_name("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<>()").part);
}

TEST(KernelNames, SoftmaxTellsUnfusedAttention) {
  EXPECT_TRUE(
      kernel_name("void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, "
                  "false, false>(float*)")
          .softmax);
  EXPECT_TRUE(
      kernel_name("void scaled_upper_triang_masked_softmax_warp_forward<float, float, 12>()")
          .softmax);
  EXPECT_FALSE(kernel_name("void flash_fwd_kernel<>()").softmax);
}

TEST(KernelNames, CopiesByTheirEnds) {
  EXPECT_EQ(kind_of_memcpy("Memcpy HtoD (Pinned -> Device)"), kCopy);
  EXPECT_EQ(kind_of_memcpy("Memcpy DtoH (Device -> Pageable)"), kCopy);
  EXPECT_EQ(kind_of_memcpy("Memcpy DtoD (Device -> Device)"), kElementwise);
  EXPECT_EQ(kind_of_memcpy("Memcpy PtoP (Device -> Device)"), kOtherCommunication);
}

TEST(KernelNames, CollectivesByC10dsNames) {
  EXPECT_EQ(kind_of_collective("allreduce"), kAllReduce);
  EXPECT_EQ(kind_of_collective("allreduce_coalesced"), kAllReduce);
  EXPECT_EQ(kind_of_collective("_allgather_base"), kAllGather);
  EXPECT_EQ(kind_of_collective("all_gather_into_tensor_coalesced"), kAllGather);
  EXPECT_EQ(kind_of_collective("_reduce_scatter_base"), kReduceScatter);
  EXPECT_EQ(kind_of_collective("all_to_allv"), kAllToAll);
  EXPECT_EQ(kind_of_collective("send"), kSendRecv);
  EXPECT_EQ(kind_of_collective("barrier"), kOtherCommunication);
}

}  // namespace plait::kernel_names_test
