#pragma once
// The shape of a layout is all that it is but for how its replicas share the state of training.
// With a dozen ways to share it, a dozen layouts ask what their shape's passes take and keep: it is
// worked out once.

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "search/layout.h"
#include "search/pipeline_costs.h"

namespace plait {

/// Of the layers of a layout that are not recomputed, and of those that are.
struct PlannedSizes {
  const ShardSizes &kept, &again;
};

/// Of a pipeline's stages at most so many differ in what bounds ask: the ends and a neighbour.
template <class OfStage>
using OfUnlikeStages = boost::container::static_vector<OfStage, 3>;

/// What stages hold, but for the sharing.
struct MemoryOfShape {
  struct OfStage {
    std::int64_t stage = 0;
    Parts parts;
    /// Parameters: of embedding and head, of layers and modules but for experts, of experts.
    std::int64_t ends = 0, layers = 0, experts = 0;
    std::int64_t frozen = 0;  // bytes of weights that are not trained
    std::int64_t kept = 0;    // bytes that passes keep, at its first backward pass
    std::int64_t copies = 0;  // bytes of copies of weights
    // At the layer that this pass begins with:
    std::optional<std::size_t> last = std::nullopt;  // its kind
    bool recomputes = false;                         // like all layers of its piece
    std::int64_t copies_of_others = 0;               // but for its own
  };
  MemoryOfShape(const Pieces& of, const std::optional<PlannedSizes>& planned)
      : pieces(of), sizes(planned) {}

  Pieces pieces;
  std::optional<PlannedSizes> sizes;  // nothing where layouts of the shape cannot be planned
  OfUnlikeStages<OfStage> of_stages;  // as far as they were asked for
};

/// What passes take, where gradients are written, or where they are added to.
struct PassesOfShape {
  /// costs_of(pieces): nothing where layouts of the shape cannot be planned.
  template <class CostsOf>
  PassesOfShape(const Pieces& of, CostsOf&& costs_of) : pieces(of), costs(costs_of(pieces)) {
    const std::int64_t stages = costs ? pieces.places.stages : 0;
    // Stages between the ends are alike; the last of them waits longest.
    for (std::int64_t s = 0; s < stages; s = std::max(s + 1, stages - 2)) {
      of_stages.push_back(costs->of_stage(s));
    }
  }
  PassesOfShape(const PassesOfShape&) = delete;  // costs refer to pieces
  PassesOfShape& operator=(const PassesOfShape&) = delete;

  Pieces pieces;
  std::optional<PassCosts> costs;
  OfUnlikeStages<StagePasses> of_stages;  // of those that may take longest
};

inline bool same_shape(const Layout& a, const Layout& b) {
  return a.replicas() == b.replicas() && shared_as(a, b) == a;
}

/// What a thread knows of the shape of the layout that it met last: the next one mostly has it too.
template <class OfShape>
class LastShape {
 public:
  /// Of the layout's; make(emplace) calls emplace(arguments of OfShape's constructor...) for a new
  /// one, which goes for all layouts of the shape that are alike(one, other).
  template <class Alike, class Make>
  OfShape& of(const Layout& l, Alike&& alike, Make&& make) {
    if (known_ && same_shape(layout_, l) && alike(layout_, l)) return *known_;
    layout_ = l;
    return make([&](auto&&... arguments) -> OfShape& {
      return known_.emplace(std::forward<decltype(arguments)>(arguments)...);
    });
  }

 private:
  Layout layout_;
  std::optional<OfShape> known_;
};

}  // namespace plait
