#include "kernels/blas_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace plait::kernels {
namespace {

/// Where the build found it, which may be on another machine; else wherever the system has it.
void* open_library() {
  constexpr int kReplace = 1;
  setenv("OPENBLAS_NUM_THREADS", "1", kReplace);
  for (const char* path : {PLAIT_OPENBLAS_LIBRARY, "libopenblas.so.0"}) {
    if (void* library = dlopen(path, RTLD_NOW)) return library;
  }
  throw EnvironmentError(std::string("real runs compute with OpenBLAS, which is not installed: ") +
                         dlerror());
}

template <class F>
void find(void* library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (function == nullptr) {
    throw EnvironmentError(std::string("this OpenBLAS has no ") + symbol +
                           ": install Debian's or build it with CBLAS");
  }
}

BlasLibrary load() {
  void* library = open_library();
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
  find(library, "openblas_set_num_threads", set_num_threads);
  set_num_threads(1);  // the variant with OpenMP reads another variable
  BlasLibrary out = {};
  find(library, "cblas_sgemm", out.sgemm);
  find(library, "cblas_dgemm", out.dgemm);
  find(library, "openblas_get_config", out.config);
  find(library, "openblas_get_corename", out.corename);
  return out;
}

}  // namespace

const BlasLibrary& blas_library() {
  static const BlasLibrary loaded = load();
  return loaded;
}

}  // namespace plait::kernels
