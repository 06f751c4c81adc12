#include "reports/profile/readable_kernel.h"

#include <gtest/gtest.h>

namespace plait::readable_kernel_test {

TEST(ReadableKernel, NamesTheFunctorOfATemplate) {
  EXPECT_EQ(readable_kernel(
                "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
                "at::native::(anonymous namespace)::silu_backward_kernel(at::TensorIteratorBase&)::"
                "{lambda()#1}::operator()() const::{lambda()#4}>(at::TensorIteratorBase&)::"
                "{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<>)"),
            "elementwise_kernel<silu_backward_kernel>");
  EXPECT_EQ(
      readable_kernel(
          "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
          "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, "
          "float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
          "unsigned int, c10::BFloat16, 4, 4> >(at::native::ReduceOp<>)"),
      "reduce_kernel<sum_functor>");
  EXPECT_EQ(readable_kernel("void at::native::(anonymous namespace)::CatArrayBatchedCopy<"
                            "at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, "
                            "64, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*)"),
            "CatArrayBatchedCopy");
}

TEST(ReadableKernel, WrappersStandBack) {
  EXPECT_EQ(bare_kernel("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)"),
            "cutlass_80_tensorop_bf16_s16816gemm");
  EXPECT_EQ(bare_kernel("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<"
                        "flash::CollectiveMainloopFwdSm90<2> > > >(flash::Params)"),
            "FlashAttnFwdSm90");
  EXPECT_EQ(bare_kernel("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_"
                        "64x64x128_1x4x1_cga1x1x1_kernel0_0"),
            "cudnn_native_sdpa_sm90_flash_bprop_wgmma_f16");
}

TEST(ReadableKernel, PlainNamesStay) {
  for (const char* name : {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "_chunk_scan_fwd_kernel",
                           "triton_poi_fused_add_4", "Memset (Device)", ""}) {
    EXPECT_EQ(readable_kernel(name), name);
  }
  EXPECT_EQ(readable_kernel("void broken<int, (("), "broken");
}

}  // namespace plait::readable_kernel_test
