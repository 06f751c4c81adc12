#include "plan/op.h"

namespace plait {

std::vector<std::int64_t> members(const Mesh& mesh, std::int64_t rank, AxisSet axes,
                                  Stages stages) {
  std::vector<std::int64_t> ranks = mesh.group(rank, axes);
  if (stages == Stages::kAll) return ranks;
  const std::int64_t per_stage = mesh.stride(Axis::kPp), last = mesh[Axis::kPp] - 1;
  std::erase_if(ranks, [&](std::int64_t r) { return r / per_stage != 0 && r / per_stage != last; });
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
