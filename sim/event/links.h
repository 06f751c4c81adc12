#pragma once
// Flows that share links. Given the links that each flow crosses, the rates are max-min fair: no
// flow can go faster without taking from one that is not faster (Bertsekas and Gallager 1992,
// section 6.5.2). Between changes all flows are constant, so the next change is known.
//
// A link is a token bucket: it starts with `burst` tokens (bytes), gains `rate` per second and
// loses what it passes, never more than `burst`. With tokens it passes up to `peak`, without them
// up to `rate`. A bucket that has run empty counts as empty until it holds one frame again: less
// does not let anything pass.

#include <array>
#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"

namespace plait {

struct SharedLink {
  BytesPerSecond rate;
  BytesPerSecond peak;  // with tokens; at least `rate`
  Bytes burst;
  /// Bytes that go back for each byte that is carried, to acknowledge it.
  double acknowledged = 0;
};

class SharedLinks {
 public:
  explicit SharedLinks(const std::vector<SharedLink>& links);
  /// A flow over two different links, acknowledged over two others.
  void start(SimTime now, std::uint32_t flow, std::array<std::uint32_t, 2> over,
             std::array<std::uint32_t, 2> back, Bytes bytes);
  /// Next change of the rates by itself: a flow ends, a bucket runs empty.
  SimTime next();
  /// Appends the flows that have ended by `now`, ascending. No change may lie before `now`.
  void advance(SimTime now, std::vector<std::uint32_t>& ended);

 private:
  struct Link {
    double rate, peak, burst;  // bytes per picosecond, bytes
    double tokens;
    double passes = 0;  // sum of its flows
    double acknowledged = 0;
    bool open = false;  // has tokens
    double free = 0;    // while rates are shared out
    double demand = 0;  // what it carries for each byte of all flows that are not settled
  };
  /// A link carries `share` bytes for each byte of the flow.
  struct Use {
    std::uint32_t link;
    double share;
  };
  struct Flow {
    std::uint32_t id;
    std::array<Use, 4> uses;
    double left;  // bytes
    double rate = 0;
    bool settled = false;
  };
  void serve_until(SimTime now);
  void share();
  std::size_t tightest() const;
  void settle(Flow& flow, double rate);

  std::vector<Link> links_;
  std::vector<Flow> flows_;  // ascending by id
  SimTime now_ = 0;
  bool changed_ = false;
};

}  // namespace plait
