#include "kernels/blas_library.h"

#include <cstdlib>

#include "core/library.h"

namespace plait::kernels {
namespace {

/// Where the build found it, which may be on another machine; else wherever the system has it.
Library open_library() {
  constexpr int kReplace = 1;
  setenv("OPENBLAS_NUM_THREADS", "1", kReplace);
  return {{PLAIT_OPENBLAS_LIBRARY, "libopenblas.so.0"},
          "real runs compute with OpenBLAS, which is not installed",
          "OpenBLAS",
          "install Debian's or build it with CBLAS"};
}

BlasLibrary load() {
  const Library library = open_library();
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
  library.find("openblas_set_num_threads", set_num_threads);
  set_num_threads(1);  // the variant with OpenMP reads another variable
  BlasLibrary out = {};
  library.find("cblas_sgemm", out.sgemm);
  library.find("cblas_dgemm", out.dgemm);
  library.find("openblas_get_config", out.config);
  library.find("openblas_get_corename", out.corename);
  return out;
}

}  // namespace

const BlasLibrary& blas_library() {
  static const BlasLibrary loaded = load();
  return loaded;
}

}  // namespace plait::kernels
