#pragma once
// An op: one launch. Its body says what is done, its operands on what, its stream in which queue.
// Dependencies are not written down: they follow from the operands (read after write, write after
// read, write after write) and from each stream's first-in, first-out order.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "model/op.h"
#include "plan/mesh.h"
#include "plan/tensor.h"

namespace plait {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kShift,
  kPush,
  kPull
};
std::string_view name_of(CollectiveKind kind);

enum class Reduction : std::uint8_t { kSum, kMax };

/// Of an all_to_all of tokens in their slots: rows of `width` elements, each token's in slots of
/// `chosen` of all experts. 0: it is none.
struct TokenExchange {
  std::int64_t chosen = 0, experts = 0, width = 0;
};

/// A collective over the group of `axes`. `elements` is nccl-tests' size S in elements: the full
/// buffer, i.e. the sum of the shards for all_gather and reduce_scatter. A shift gives each
/// member's buffer to the next one in the group and has that of the one before, round the ring. A
/// push is a reduce_scatter to the group's servers, of what its workers have, a pull an all_gather
/// from them to its workers; operands {from, to}, of which a member has what its role holds.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  AxisSet axes;
  DType dtype = DType::kBf16;
  std::int64_t elements = 0;
  /// Where they begin in the op's operands, one behind the other: a bucket may travel in pieces.
  std::int64_t first = 0;
  Reduction reduction = Reduction::kSum;
  Stages stages = Stages::kAll;
  TokenExchange tokens = {};
  Servers servers = {};  // of a push or pull
  /// Of an input's gradient over tp: the projections that share the input, which sum it once for
  /// all or, in some frameworks, once for each (Kernels::input_sums).
  std::int64_t projections = 1;
  Bytes bytes() const { return Bytes(bytes_of(dtype, elements)); }
};

/// Ranks that meet in a collective of `rank` over `axes`, ascending.
std::vector<std::int64_t> members(const Mesh& mesh, std::int64_t rank, AxisSet axes, Stages stages);

/// Between stages of different tensor-parallel degrees a rank has several peers, or several ranks
/// share one: a message of equal size for each pair (plan/places.h).
struct Fan {
  std::int32_t peers = 1;    // of this rank
  std::int32_t sharers = 1;  // ranks on this side that have the same peer
  bool operator==(const Fan&) const = default;
};
/// Point to point, `offset` steps along `axis` with wrap-around. The Send of tensor x[layer,
/// microbatch] meets the Recv of the same tensor member on the peer.
struct Send {
  Axis axis = Axis::kPp;
  int offset = 1;
  Bytes bytes;  // of a message
  Fan fan = {};
};
struct Recv {
  Axis axis = Axis::kPp;
  int offset = -1;
  Bytes bytes;
  Fan fan = {};
};
/// Through the end that has more to do: all that it sends or receives.
template <class Message>
Bytes bytes_at_busier_end(const Message& m) {
  return Bytes(m.bytes.value * std::max(m.fan.peers, m.fan.sharers));
}

/// A copy between places (host offload): {from R, to W}. Where one of them is a whole buffer and
/// the other a rank's share of it, the rank's share is copied, {from R, to U} into the whole.
struct Copy {
  Place from = Place::kDevice, to = Place::kHost;
  Bytes bytes;
};

using Body = std::variant<Compute, Collective, Send, Recv, Copy>;

/// In-order queues of one rank.
enum class Stream : std::uint8_t {
  kCompute,
  kTp,
  kGradSync,
  kParamGather,
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
  kHostToDevice,
  kDeviceToHost,
  kCp,
  kEp,
  kHost,         // the rank's share of its host's processor
  kStorageRead,  // of its node's drives
  kStorageWrite
};
inline constexpr int kStreams = 15;
std::string_view name_of(Stream stream);

enum class Use : std::uint8_t { kRead, kWrite, kUpdate };

/// Member of a tensor family: the call's layer + `shift`, the call's microbatch.
struct Operand {
  TensorId tensor = kNoTensor;
  Use use = Use::kRead;
  std::int16_t shift = 0;
};

/// What the time is spent for; reports group by it.
enum class Phase : std::uint8_t {
  kForward,
  kBackward,
  kWeightGrad,
  kRecompute,
  kGradSync,
  kParamGather,
  kOptimizer
};
std::string_view name_of(Phase phase);

struct Op {
  Body body;
  Stream stream = Stream::kCompute;
  Phase phase = Phase::kForward;
  std::vector<Operand> operands;
};

/// One end of a message between two ranks.
inline bool is_message(const Op& op) {
  return std::holds_alternative<Send>(op.body) || std::holds_alternative<Recv>(op.body);
}
/// Messages between two ranks meet in order where they are of one channel. Both ends name it alike:
/// by what travels, activations or gradients, and by the direction, since a V-shaped pipeline sends
/// both both ways.
Stream channel_of(const Op& op);

/// "matmul", "all_reduce", "send", ...: a fixed vocabulary.
std::string_view name_of(const Op& op);

}  // namespace plait
