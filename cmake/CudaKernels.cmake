# plait_kernels_cuda: kernels/cuda by nvcc for sm_80, sm_90 and sm_100, where nvcc and cuBLASLt are
# found. Nothing links libcuda: the programs start on machines without a driver.
# plait_cuda_headers: CUDA's headers alone, for the host compiler (the kernels' emulation in tests).
option(PLAIT_CUDA "CUDA kernels, where nvcc and cuBLASLt are found" ON)
if(NOT PLAIT_CUDA OR NOT CUDAToolkit_FOUND)
  return()
endif()
add_library(plait_cuda_headers INTERFACE)
target_include_directories(plait_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER OR NOT TARGET CUDA::cublasLt)
  message(STATUS "CUDA kernels: left out (nvcc or cuBLASLt is missing)")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real)
endif()
enable_language(CUDA)
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu
     ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cpp)
add_library(plait_kernels_cuda STATIC ${cuda_sources})
target_link_libraries(plait_kernels_cuda PUBLIC plait_options plait_core plait_cuda_headers
                      CUDA::cudart_static CUDA::cublasLt)
target_compile_options(plait_kernels_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
                       # Kernels call the constexpr functions of the headers beside the CPU twins.
                       -std=c++20 --expt-relaxed-constexpr --Werror all-warnings
                       -Xcompiler=-Wall,-Wextra,-Wshadow>)
