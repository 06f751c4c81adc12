# plait_realrun_cuda: real runs on GPUs, where CUDA's headers are found. It calls the runtime and the
# kernels without linking them: the real ones in the plug-in plait_cuda, emulated ones in tests.
if(NOT TARGET plait_cuda_headers)
  return()
endif()
if(NCCL_INCLUDE_DIR)
  set(nccl_folder transport/nccl)  # its headers alone: the library is loaded where asked for
else()
  set(nccl_folder compute/cuda/no_nccl)
endif()
if(CUDNN_FOUND)
  set(cudnn_folder compute/cuda/cudnn)
else()
  set(cudnn_folder compute/cuda/no_cudnn)
endif()
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/realrun/compute/cuda/*.cpp
     ${CMAKE_SOURCE_DIR}/realrun/${nccl_folder}/*.cpp
     ${CMAKE_SOURCE_DIR}/realrun/${cudnn_folder}/*.cpp)
add_library(plait_realrun_cuda STATIC ${sources})
target_link_libraries(plait_realrun_cuda PUBLIC plait_realrun plait_cuda_headers)
if(NCCL_INCLUDE_DIR)
  target_include_directories(plait_realrun_cuda SYSTEM PUBLIC ${NCCL_INCLUDE_DIR})
endif()
if(CUDNN_FOUND)
  target_include_directories(plait_realrun_cuda SYSTEM PRIVATE ${CUDNN_INCLUDE_DIR})
endif()
set_target_properties(plait_realrun_cuda PROPERTIES POSITION_INDEPENDENT_CODE ON)
# In no lot: tests have others of their own in the place of these.
set(replaced ${sources})
list(FILTER replaced INCLUDE REGEX "/(no_)?cudnn/|/no_nccl/|/nccl/(api|library)")
set_source_files_properties(${replaced} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
if(NOT TARGET plait_kernels_cuda)
  return()
endif()
# The plug-in finds the rest of plait in the program that loads it.
file(GLOB plugin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/realrun/compute/cuda/plugin/*.cpp)
add_library(plait_cuda MODULE ${plugin_sources} $<TARGET_OBJECTS:plait_realrun_cuda>
            $<TARGET_OBJECTS:plait_kernels_cuda>)
target_link_libraries(plait_cuda PRIVATE plait_options plait_cuda_headers CUDA::cudart_static
                      CUDA::cublasLt $<$<BOOL:${CUDNN_FOUND}>:${CUDNN_LIBRARY}> ${CMAKE_DL_LIBS})
set_target_properties(plait_cuda plait_kernels_cuda PROPERTIES POSITION_INDEPENDENT_CODE ON)
