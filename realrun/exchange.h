#pragma once
// What a communication op is to one rank: with whom it meets, and which elements of its operands
// travel. Where those are, in this process's memory or on a device, is not said here.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plan/plan.h"
#include "realrun/rank.h"
#include "realrun/transport.h"

namespace plait {

/// Elements [first, first + elements) of operand `operand` of an op.
struct Part {
  std::size_t operand = 0;
  std::int64_t first = 0, elements = 0;
};

/// A collective as one member sees it, its data as pieces of type P. `in` and `out` are the same
/// pieces where it works in place.
///   all_reduce      in place: any number of pieces, one behind the other
///   reduce_scatter  in[elements] to out[elements / n]; in place: the own share becomes right, the
///                   rest is undefined
///   all_gather      in[elements / n] to out[elements]; in place: from the own share
///   all_to_all      in[elements] to out[elements]; share p goes to and comes from member p
///   shift           in[elements] to the next member, out[elements] from the one before
///   push            a worker's in[elements] to a server's out[elements / servers]
///   pull            a server's in[elements / servers] to a worker's out[elements]
template <class P>
struct CollectiveOf {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;
  std::vector<std::int64_t> group;  // ranks, ascending
  std::int64_t index = 0;           // of this rank in the group
  std::vector<P> in, out;
  bool in_place = false;
  int channel = 0;
  std::uint64_t tag = 0;
  Bytes bytes;                 // nccl-tests' S, as it travels
  Servers servers = {};        // of a push or pull
  DType dtype = DType::kFp32;  // every sum is rounded to it
};

/// Messages as one end sees them: one, or one with each of several peers (plan/places.h).
struct PointToPoint {
  Flow flow = Flow::kOut;
  int channel = 0;
  std::uint64_t tag = 0;
  struct Message {
    std::int64_t peer = 0;
    Part part;
  };
  std::vector<Message> messages;
};

using Exchange = std::variant<CollectiveOf<Part>, PointToPoint>;

/// Reads the exchanges of one rank's step, in issue order: an all_reduce may go on with what the
/// reduce_scatter right before it left on this rank.
class ExchangeReader {
 public:
  ExchangeReader(const Plan& plan, const Rank& rank) : plan_(plan), rank_(rank) {}
  /// Of a Collective, Send or Recv. Nothing for compute.
  std::optional<Exchange> read(const Op& op);

 private:
  template <class M>  // Send or Recv
  PointToPoint message(const Op& op, const M& message, Flow flow) const;
  CollectiveOf<Part> collective(const Collective& c, const Op& op);
  Part whole(const Op& op, std::size_t i) const;
  std::vector<Part> contiguous(const Op& op, std::int64_t first, std::int64_t elements) const;
  void add_share(std::vector<Part>& to, const Op& op, std::int64_t rank) const;

  /// What a reduce_scatter in place left on each rank: elements [first, end) of the shares of its
  /// operands, one behind the other. An all_reduce right behind it goes on with these.
  struct Scattered {
    const Op* op = nullptr;
    std::int64_t shares = 0, own = 0, first = 0, end = 0;
  };
  /// Whether `op` goes on with the own share.
  bool continues_scattered(const Collective& c, const Op& op) const;

  const Plan& plan_;
  const Rank& rank_;
  Scattered scattered_;
};

}  // namespace plait
