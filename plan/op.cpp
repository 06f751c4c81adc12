#include "plan/op.h"

namespace plait {

std::vector<std::int64_t> members(const Mesh& mesh, std::int64_t rank, AxisSet axes,
                                  Stages stages) {
  std::vector<std::int64_t> ranks = mesh.group(rank, axes);
  if (stages == Stages::kAll) return ranks;
  const auto meeting_of = [&](std::int64_t r) {
    return first_of_meeting(stages, r / mesh.stride(Axis::kPp), mesh[Axis::kPp]);
  };
  const std::int64_t own = stages == Stages::kEnds ? 0 : meeting_of(rank);
  std::erase_if(ranks, [&](std::int64_t r) { return meeting_of(r) != own; });
  return ranks;
}

Stream channel_of(const Op& op) {
  const bool activations = op.stream == Stream::kSendForward || op.stream == Stream::kRecvForward;
  const Send* send = std::get_if<Send>(&op.body);
  const bool onward = send != nullptr ? send->offset > 0 : std::get<Recv>(op.body).offset < 0;
  if (activations) return onward ? Stream::kSendForward : Stream::kRecvForward;
  return onward ? Stream::kRecvBackward : Stream::kSendBackward;
}

}  // namespace plait
