#pragma once
// A tensor of the plan: its shape before and after sharding, its element type, what it is for and
// how many of it there are. A Tensor describes a family: `scope` says over which loop variables it
// is indexed (one per layer, one per layer and microbatch, ...), and an operand picks a member by
// the layer and microbatch of the call it stands in.

#include <array>
#include <cstdint>
#include <string>

#include "core/quantity.h"
#include "model/dtype.h"
#include "plan/mesh.h"
#include "plan/servers.h"

namespace plait {

enum class TensorClass : std::uint8_t {
  kWeight,
  kGradient,
  kOptimizer,
  kActivation,
  kKvCache,
  kBuffer
};
enum class Place : std::uint8_t { kDevice, kHost, kStorage };
enum class Scope : std::uint8_t { kRole, kLayer, kMicrobatch, kLayerMicrobatch, kCall };

std::string_view name_of(TensorClass c);

/// Loop variables that a scope indexes by.
constexpr bool per_layer(Scope s) { return s == Scope::kLayer || s == Scope::kLayerMicrobatch; }
constexpr bool per_microbatch(Scope s) {
  return s == Scope::kMicrobatch || s == Scope::kLayerMicrobatch;
}

/// One dimension: its global extent and the axes that shard it. A packed dimension (q|k|v, gate|up,
/// z|x|B|C|dt) has up to five sections, each of which is sharded on its own; unused sections are 0.
/// A tensor that holds some of another's sections has them at the same places of the list.
using Sections = std::array<std::int64_t, 5>;
struct Dim {
  std::int64_t global = 0;
  AxisSet sharded = {};
  Sections sections = {};
  std::int64_t local(const Mesh& mesh) const { return global / mesh.size_of(sharded); }
};

using TensorId = std::uint16_t;
inline constexpr TensorId kNoTensor = 0xFFFF;

struct Tensor {
  std::string name;              // "layer.qkv.weight"
  std::array<Dim, 4> dims = {};  // row-major; `rank` of them are used
  int rank = 0;
  DType dtype = DType::kBf16;
  TensorClass kind = TensorClass::kActivation;
  Place place = Place::kDevice;
  Scope scope = Scope::kCall;
  Holders holders = Holders::kWorkers;
  bool persistent = false;  // holds memory for the whole step, and between steps
  AxisSet partial = {};     // a sum over these axes is still owed
  /// Parameters and gradients: axes along which several ranks hold these same elements and which a
  /// sum over all parameters (the gradient norm) nevertheless runs over. The first rank along them
  /// counts, the others do not: Megatron-LM leaves out tensor-parallel duplicates and shared
  /// parameters alike.
  AxisSet counted_once = {};
  Stages copies = Stages::kEnds;  // which ranks along pp these are
  /// Where the elements live: another tensor (a view into a flat buffer) at an element offset, or
  /// itself.
  TensorId storage = kNoTensor;
  std::int64_t offset = 0;

  std::int64_t elements(const Mesh& mesh) const {  // on one rank
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[static_cast<std::size_t>(i)].local(mesh);
    return n;
  }
  Bytes bytes(const Mesh& mesh) const { return Bytes(bytes_of(dtype, elements(mesh))); }
  bool is_view() const { return storage != kNoTensor; }
};

}  // namespace plait
