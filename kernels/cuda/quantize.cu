// Quantising reads numbers twice, the second time as a rule from the cache: a warp to each block
// looks for its largest magnitude, and then each thread makes some bytes, eight where shares begin
// at vectors. Blocks do not: they may be odd, so that two of them share a byte.

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/quantize.h"
#include "kernels/cuda/reduce.h"

namespace plait::kernels::cuda {
namespace {

constexpr int kBytes = 8;  // of a thread

/// Where share `share` of the quantised ones lies among the numbers.
__device__ std::int64_t place_of_share(const QuantizedShares& s, std::int64_t share) {
  return share % s.nodes * s.ranks + share / s.nodes;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    scales_kernel(float* scales, const T* x, QuantizedShares s, std::int64_t blocks) {
  const std::int64_t warps = std::int64_t{gridDim.x} * (kBlock / kWarp);
  const auto most = static_cast<float>((1 << (s.each.bits - 1)) - 1);
  for (std::int64_t b = std::int64_t{blockIdx.x} * (kBlock / kWarp) + threadIdx.x / kWarp;
       b < blocks; b += warps) {
    const T* share = x + place_of_share(s, b / s.each.blocks) * s.each.n;
    const std::int64_t first = b % s.each.blocks * s.each.block();
    const std::int64_t end = first + s.each.block() < s.each.n ? first + s.each.block() : s.each.n;
    float largest = 0;
    for (std::int64_t i = first + threadIdx.x % kWarp; i < end; i += kWarp) {
      largest = fmaxf(largest, fabsf(to_float(share[i])));
    }
    largest = reduce_warp(largest, Larger{});
    if (threadIdx.x % kWarp == 0) scales[b] = largest / most;
  }
}

/// The scale of number i of a share, for numbers that come one after another.
class ScaleOf {
 public:
  __device__ ScaleOf(const float* scales, std::int64_t block, std::int64_t first)
      : at_(scales + first / block), end_((first / block + 1) * block), block_(block) {}
  __device__ float operator()(std::int64_t i) {
    if (i == end_) ++at_, end_ += block_;
    return *at_;
  }

 private:
  const float* at_;
  std::int64_t end_, block_;
};

/// The next N numbers of n; 0 beyond. Vectors have them all.
template <bool vectors, int N, class T>
__device__ Floats<N> load_numbers(const T* x, std::int64_t left) {
  if constexpr (vectors) {
    return load<N>(x);
  } else {
    Floats<N> out{};
    for (int i = 0; i < N && i < left; ++i) out.at[i] = to_float(x[i]);
    return out;
  }
}

template <int bits, class T>
struct Quantize {
  static constexpr int kPerByte = 8 / bits;
  std::uint8_t* out;
  const float* scales;
  const T* x;
  QuantizedShares s;
  template <int V>
  __device__ void run(std::int64_t share, std::int64_t byte) const {
    constexpr int N = V * kPerByte;
    const std::int64_t first = byte * kPerByte, n = s.each.n;
    const T* from = x + place_of_share(s, share) * n + first;
    const Floats<N> numbers = load_numbers<(V > 1), N>(from, n - first);
    ScaleOf scale_of(scales + share * s.each.blocks, s.each.block(), first);
    Kept<V> packed{};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (first + i >= n) break;
      const float scale = scale_of(first + i);
      const int integer = scale > 0 ? static_cast<int>(rintf(numbers.at[i] / scale)) : 0;
      const unsigned held = static_cast<unsigned>(integer) & ((1U << bits) - 1);
      packed.at[i / kPerByte] |= static_cast<std::uint8_t>(held << (i % kPerByte * bits));
    }
    store_kept(out + share * s.each.bytes() + byte, packed);
  }
};

template <int bits, class T>
struct Dequantize {
  static constexpr int kPerByte = 8 / bits;
  T* x;
  const std::uint8_t* in;
  const float* scales;
  QuantizedShares s;
  std::int64_t addends;  // shares at a distance of `nodes`, or 1
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t byte) const {
    constexpr int N = V * kPerByte;
    const std::int64_t first = byte * kPerByte, n = s.each.n;
    Floats<N> sum{};
    for (std::int64_t k = 0; k < addends; ++k) {
      const std::int64_t share = row + k * s.nodes;
      const Kept<V> packed = load_kept<V>(in + share * s.each.bytes() + byte);
      ScaleOf scale_of(scales + share * s.each.blocks, s.each.block(), first);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (first + i >= n) break;
        const int held = packed.at[i / kPerByte] >> (i % kPerByte * bits) & ((1 << bits) - 1);
        const int integer = held < 1 << (bits - 1) ? held : held - (1 << bits);
        sum.at[i] += static_cast<float>(integer) * scale_of(first + i);
      }
    }
    T* to = x + row * n + first;
    if constexpr (V > 1) {
      store(to, sum);
    } else {
      for (int i = 0; i < N && first + i < n; ++i) to[i] = from_float<T>(sum.at[i]);
    }
  }
};

/// Shares are whole vectors of bytes, and of the numbers in them.
template <class T>
bool shares_are_vectors(const QuantizedShares& s, const void* numbers, const void* bytes) {
  return aligned({numbers, bytes}) && s.each.n % (std::int64_t{kBytes} * 8 / s.each.bits) == 0;
}

template <int bits, class T>
void dequantize_bits(const Queue& q, T* x, const std::uint8_t* in, const float* scales,
                     const QuantizedShares& s, bool adds) {
  for_each_in_rows<kBytes>(q, shares_are_vectors<T>(s, x, in), s.nodes * (adds ? 1 : s.ranks),
                           s.each.bytes(),
                           Dequantize<bits, T>{x, in, scales, s, adds ? s.ranks : 1});
}

template <int bits, class T>
void quantize_bits(const Queue& q, std::uint8_t* out, const float* scales, const T* x,
                   const QuantizedShares& s) {
  for_each_in_rows<kBytes>(q, shares_are_vectors<T>(s, x, out), s.ranks * s.nodes, s.each.bytes(),
                           Quantize<bits, T>{out, scales, x, s});
}

}  // namespace

template <class T>
void quantize_shares(const Queue& q, std::uint8_t* out, float* scales, const T* x,
                     const QuantizedShares& s) {
  const std::int64_t blocks = s.ranks * s.nodes * s.each.blocks;
  launch(scales_kernel<T>, blocks_for(q, ceil_div(blocks, kBlock / kWarp)), kBlock, 0, q.stream,
         scales, x, s, blocks);
  s.each.bits == 8 ? quantize_bits<8>(q, out, scales, x, s)
                   : quantize_bits<4>(q, out, scales, x, s);
}

template <class T>
void dequantize_shares(const Queue& q, T* x, const std::uint8_t* in, const float* scales,
                       const QuantizedShares& s, bool adds) {
  s.each.bits == 8 ? dequantize_bits<8>(q, x, in, scales, s, adds)
                   : dequantize_bits<4>(q, x, in, scales, s, adds);
}

#define PLAIT_INSTANTIATE(T)                                                           \
  template void quantize_shares(const Queue&, std::uint8_t*, float*, const T*,         \
                                const QuantizedShares&);                               \
  template void dequantize_shares(const Queue&, T*, const std::uint8_t*, const float*, \
                                  const QuantizedShares&, bool);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
