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
  auto operator<=>(const TokenExchange&) const = default;
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

// Operands of each op in this order, which strategies write and devices go by. R: read. W: written.
// U: updated, which reads it too. W/U: updated where it adds to what is there or leaves some of it
// standing. [ ]: where the op has it. "...": one or more.
//
//   op            pass or kind     operands
//   MatMul        forward          x R, w R, y W/U, [bias R], [kept W/R]
//                 input gradient   dy R, w R, dx W, [held R ...]
//                 weight gradient  dy R, x R, dw W/U, [dbias W/U]
//   Attention     forward          qkv R, context W/U, saved W/U, [mask W, dropped W], [kv R]
//                 backward         dcontext R, qkv R, context R, saved R, [mask R, dropped R],
//                                  [kv R, dkv W], dqkv W/U
//   Norm          forward          x R, gamma R, [beta R], y W, stats W
//                 backward         dy R, x R, stats R, gamma R, dx W, dgamma W/U, [dbeta W/U]
//                 input gradient   dy R, x R, stats R, gamma R, dx W
//   HeadNorm      forward          qkv R, gamma of queries R, gamma of keys R, out W, stats W
//                 backward         dqkv U, qkv R, stats R, both gammas R, both dgammas W/U
//                 input gradient   dqkv U, qkv R, stats R, both gammas R
//   Activation    forward          u R, a W, [gates R]
//                 backward         da R, u R, du W, [gates R, dgates W]
//   Gate          forward          x R, g R, out W
//                 backward         dout R, x R, g R, dx W, dg W
//   Rope          both             rows U
//   LatentHeads   forward          q R, kv R, rotary R, qkv W
//                 backward         dqkv R, dq W, dkv W, drotary W
//   CausalConv    forward          packed R, taps R, [bias R], out W
//                 backward         dout R, packed R, taps R, [bias R], dpacked U, dtaps W/U,
//                                  [dbias W/U]
//   Scan          forward          rows R, packed R, a R, d R, dt_bias R, y W, states W,
//                                  scratch W ...
//                 backward         dy R, rows R, packed R, a R, d R, dt_bias R, drows W,
//                                  dpacked U, da W/U, dd W/U, ddt_bias W/U, states W,
//                                  scratch W ...
//   DeltaRule     forward          rows R, packed R, a R, dt_bias R, y W, kept W, stats W,
//                                  inverse W, states W, scratch W ...
//                 backward         dy R, kept R, stats R, inverse R, packed R, a R, dt_bias R,
//                                  drows W, dpacked U, da W/U, ddt_bias W/U, states W,
//                                  scratch W ...
//   GatedNorm     forward          y R, packed R, gamma R, out W, stats W
//                 backward         dout R, y R, packed R, stats R, gamma R, dy W, dpacked W,
//                                  dgamma W/U, [out W]
//   Embedding     forward          tokens R, table R, out W
//                 backward         tokens R, dout R, dtable W/U
//     positions   forward          x R, table R, out W
//                 backward         dout R, dtable W/U
//   CrossEntropy  row maxima       logits R, max W
//                 sums             logits R, max R, labels R, sums W
//                 loss             sums R, loss W
//                 gradient         logits U, max R, sums R, labels R
//   Route         forward          logits R, gates W, slots W
//                 backward         dgates R, gates R, slots R, dlogits W
//   Dispatch      forward          x R, slots R, filled W, [own slots W]
//                 backward         dfilled R, slots R, dx W
//   Combine       forward          filled R, gates R, slots R, out W
//                 backward         dout R, filled R, gates R, slots R, dfilled W, dgates W
//     no gates    forward          filled R, slots R, out W
//                 backward         dout R, slots R, dfilled W
//   Add           forward          a R, b R, out W, [bias R], [mask W]
//                 in place, scaled b R, out U
//                 alone            b R, out W, mask W
//                 backward         dout R, mask R, db W
//                 scaled backward  dout R, db W
//   BiasGrad                       dy R, dbias W/U
//   Cast                           in R, out W/U, [further outs W ...]
//                 scaled           in R, out W/U, magnitudes R
//                 to int8          in R, q W, scales W
//                 from int8        q R, scales R, out W
//                 from nf4         codes R, scales R, out W
//                 nested nf4       codes R, scales in 8 bits R, their scales R, scales W, out W
//   Fill                           t W ...
//   SquaredNorm                    norm W/U, gradients R ...
//   Amax                           master R, magnitudes W
//   Adam                           gradient R, [norm R], [weight W/U], [master U], both moments U
//   Collective    in place         buffer U ...
//                                  from R, to W
//   Send                           x R
//   Recv                           x W
//   Copy                           from R, to W/U
//
// MatMul: y is updated where other steps of a ring write other rows of it; sections of y outlive
// it in `kept`, or are read from there and not computed; `held` stays until then though nothing of
// it is read. Attention: `saved` is the log-sum-exp or, unfused, the probabilities, with dropout
// also where and what of them is left; `kv` are keys and values of other ranks' tokens; blocks of
// a ring behind the first one update results. Cast: further outs are copies in another order.
// Collective: in place all_reduce, and shards that lie in whole buffers, one buffer behind the
// other. Serving has caches that are read or updated behind the others (kv_cache.cpp,
// latent_cache.cpp, state_cache.cpp in plan/strategies).
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
