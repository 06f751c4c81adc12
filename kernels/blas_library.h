#pragma once
// OpenBLAS, loaded when it is first asked for and not with the program: as it is loaded it starts a
// thread for each processor, and these spin for a while beside whatever the program does. Here it
// computes on the thread that calls it: ranks share the processors as they are.

#include <cblas.h>

namespace plait::kernels {

struct BlasLibrary {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&openblas_get_config) config;      // version and how it was built
  decltype(&openblas_get_corename) corename;  // processor that its kernels are for
};

/// Throws EnvironmentError where it is not installed.
const BlasLibrary& blas_library();

}  // namespace plait::kernels
