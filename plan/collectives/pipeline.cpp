#include "plan/collectives/pipeline.h"

namespace plait {

Rounds broadcast_down(const Branch& branch, std::int64_t height, Range range, std::int64_t chunks) {
  Rounds rounds(static_cast<std::size_t>(height + chunks - 1));
  for (std::int64_t c = 0; c < chunks; ++c) {
    const Pieces chunk{part_of(range, chunks, c)};
    const auto out = static_cast<std::size_t>(c + branch.depth);
    if (branch.depth > 0) receive(rounds[out - 1], branch.parent, chunk);
    for (std::int64_t child : branch.children) send(rounds[out], child, chunk);
  }
  return rounds;
}

Rounds reduce_and_broadcast(const Branch& branch, std::int64_t height, Range range,
                            std::int64_t chunks) {
  // A reduction is a broadcast backwards, but for the order of the chunks.
  Rounds up(static_cast<std::size_t>(height + chunks - 1));
  for (std::int64_t c = 0; c < chunks; ++c) {
    const Pieces chunk{part_of(range, chunks, c)};
    const auto out = static_cast<std::size_t>(c + height - branch.depth);
    for (std::int64_t child : branch.children) receive(up[out - 1], child, chunk, true);
    if (branch.depth > 0) send(up[out], branch.parent, chunk);
  }
  Rounds later(static_cast<std::size_t>(height));
  return beside(std::move(up),
                then(std::move(later), broadcast_down(branch, height, range, chunks)));
}

}  // namespace plait
