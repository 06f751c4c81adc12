# OpenBLAS carries the matrix products of kernels/, which only real runs need: looked for and
# reported, never required. Sets OpenBLAS_FOUND and the target plait_openblas.
find_path(OPENBLAS_INCLUDE_DIR openblas_config.h  # beside OpenBLAS's own cblas.h, not netlib's
          HINTS $ENV{OpenBLAS_HOME}/include
          PATHS /opt/homebrew/opt/openblas/include /usr/local/opt/openblas/include /opt/OpenBLAS/include
          PATH_SUFFIXES openblas openblas-pthread openblas-serial openblas-openmp)
find_library(OPENBLAS_LIBRARY openblas
             HINTS $ENV{OpenBLAS_HOME}/lib
             PATHS /opt/homebrew/opt/openblas/lib /usr/local/opt/openblas/lib /opt/OpenBLAS/lib
             PATH_SUFFIXES openblas-pthread openblas-serial openblas-openmp)
mark_as_advanced(OPENBLAS_INCLUDE_DIR OPENBLAS_LIBRARY)
if(OPENBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
  set(OpenBLAS_FOUND TRUE)
  add_library(plait_openblas INTERFACE)
  target_include_directories(plait_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE_DIR})
  # Not linked: kernels/blas_library.cpp loads it.
  target_compile_definitions(plait_openblas INTERFACE PLAIT_OPENBLAS_LIBRARY="${OPENBLAS_LIBRARY}")
  target_link_libraries(plait_openblas INTERFACE ${CMAKE_DL_LIBS})
  message(STATUS "OpenBLAS: found")
else()
  set(OpenBLAS_FOUND FALSE)
  message(STATUS "OpenBLAS: not found (only real runs need it; kernels/ is left out)")
endif()
