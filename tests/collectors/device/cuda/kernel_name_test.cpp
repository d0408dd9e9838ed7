#include "collectors/device/cuda/record_sorter.h"

#include <doctest/doctest.h>

#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

namespace {

TEST_SUITE("fast") {
  TEST_CASE("one of our kernels is named after its launch") {
    CHECK(KernelName("_ZN10stallscope6device4cuda4EachILi3ENS1_11ElementwiseEEEvT0_l") ==
          Name(static_cast<Kernel>(3)));
    CHECK(KernelName("_ZN10stallscope6device4cuda4EachILi1ENS1_11ElementwiseEEEvT0_l") ==
          "add_bias");
    CHECK(KernelName("_ZN10stallscope6device4cuda4TurnILi8EEEvNS1_9TransposeElll") == "transpose");
  }

  TEST_CASE("an unknown kernel number is not a launch") {
    CHECK(KernelName("_ZN10stallscope6device4cuda4EachILi99ENS1_11ElementwiseEEEvT0_l") ==
          "stallscope::device::cuda::Each");
  }

  TEST_CASE("a library's kernel keeps its name, without its arguments") {
    CHECK(KernelName("_ZN7cutlass6KernelI15cutlass_80_gemmEEvNT_6ParamsE") == "cutlass::Kernel");
    CHECK(KernelName("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64") ==
          "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64");
    CHECK(KernelName(nullptr) == "kernel");
    CHECK(KernelName("") == "");
  }
}

}  // namespace
}  // namespace stallscope::device::cuda
