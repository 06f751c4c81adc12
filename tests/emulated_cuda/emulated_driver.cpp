// The driver functions that green contexts take, on the emulated device: 132 multiprocessors, as an
// H100 or H200 has them, in partitions of 8, 16, 32, ... Streams of a context are streams; they
// have to go before it does.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/emulated_cuda/emulated_runtime.h"

struct CUdevResourceDesc_st {
  CUdevResource resource;
};
struct CUgreenCtx_st {
  CUdevResource resource;
  std::vector<plait::emulated::Position> streams;  // where they began
};

namespace plait::emulated {
namespace {

constexpr unsigned kMultiprocessors = 132, kAlignment = 8;

CUresult CUDAAPI error_string(CUresult, const char** text) {
  return *text = "an emulated error", CUDA_SUCCESS;
}
CUresult CUDAAPI device_get(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
CUresult CUDAAPI get_resource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  resource->type = type;
  resource->sm.smCount = kMultiprocessors;
  resource->sm.minSmPartitionSize = resource->sm.smCoscheduledAlignment = kAlignment;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI split(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                       CUdevResource*, unsigned, unsigned least) {
  if (least > input->sm.smCount) return CUDA_ERROR_INVALID_VALUE;
  const unsigned each = std::bit_ceil(std::max(least, kAlignment));
  const unsigned most = input->sm.smCount / each;
  *groups = result == nullptr ? most : std::min(*groups, most);
  if (result == nullptr) return CUDA_SUCCESS;
  for (unsigned i = 0; i < *groups; ++i) {
    result[i] = *input;
    result[i].sm.smCount = each;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI describe(CUdevResourceDesc* out, CUdevResource* resources, unsigned) {
  return *out = new CUdevResourceDesc_st{*resources}, CUDA_SUCCESS;
}
CUresult CUDAAPI create(CUgreenCtx* context, CUdevResourceDesc description, CUdevice,
                        unsigned flags) {
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  *context = new CUgreenCtx_st{description->resource, {}};
  delete description;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI destroy(CUgreenCtx context) {
  for (const Position& begin : context->streams) {
    if (!lives(begin)) continue;
    std::fputs("emulated CUDA: a green context went before its stream\n", stderr);
    std::abort();
  }
  return delete context, CUDA_SUCCESS;
}
CUresult CUDAAPI create_stream(CUstream* stream, CUgreenCtx context, unsigned flags, int) {
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
  context->streams.push_back(end_of(*stream));
  return CUDA_SUCCESS;
}

template <class F>
void* entry(F function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace
}  // namespace plait::emulated

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                        unsigned, unsigned long long,
                                                        cudaDriverEntryPointQueryResult* found) {
  namespace e = plait::emulated;
  static const std::map<std::string, void*> entries = {
      {"cuGetErrorString", e::entry(e::error_string)},
      {"cuDeviceGet", e::entry(e::device_get)},
      {"cuDeviceGetDevResource", e::entry(e::get_resource)},
      {"cuDevSmResourceSplitByCount", e::entry(e::split)},
      {"cuDevResourceGenerateDesc", e::entry(e::describe)},
      {"cuGreenCtxCreate", e::entry(e::create)},
      {"cuGreenCtxDestroy", e::entry(e::destroy)},
      {"cuGreenCtxStreamCreate", e::entry(e::create_stream)}};
  const auto at = entries.find(symbol);
  *function = at == entries.end() ? nullptr : at->second;
  *found = at == entries.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
