#include "realrun/transport/mpi/library.h"

#include <cstring>

#include "core/error.h"

namespace plait {

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(code, text, &size);
  throw EnvironmentError(std::string("MPI failed in ") + what + ": " + text);
}

MpiLibrary::~MpiLibrary() {
  for (auto& [group, comm] : groups_) MPI_Comm_free(&comm);
}

void MpiLibrary::prepare(int channel, std::span<const std::int64_t> group) {
  MPI_Comm& comm = groups_[{channel, {group.begin(), group.end()}}];
  if (comm != MPI_Comm{}) return;
  const std::vector<int> ranks(group.begin(), group.end());
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(world_, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some),
            "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(world_, some, 0, &comm), "MPI_Comm_create_group");
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}

std::int64_t MpiLibrary::start(CollectiveKind kind, Reduction reduction, int channel,
                               std::span<const std::int64_t> group, Range own, std::byte* work,
                               std::int64_t elements, std::size_t size) {
  const MPI_Comm comm = groups_.at({channel, {group.begin(), group.end()}});
  const MPI_Datatype type = size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  const MPI_Op op = reduction == Reduction::kSum ? MPI_SUM : MPI_MAX;
  const auto members = static_cast<std::int64_t>(group.size());
  PLAIT_CHECK(kind == CollectiveKind::kAllReduce || own.elements * members == elements,
              "shares of different sizes");
  const auto count = static_cast<int>(elements), share = static_cast<int>(own.elements);
  Running& r = running_[++tickets_];
  switch (kind) {
    case CollectiveKind::kAllReduce:
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, work, count, type, op, comm, &r.request),
                "MPI_Iallreduce");
      break;
    case CollectiveKind::kAllGather:
      check_mpi(MPI_Iallgather(MPI_IN_PLACE, 0, type, work, share, type, comm, &r.request),
                "MPI_Iallgather");
      break;
    case CollectiveKind::kReduceScatter:
      r.share.resize(static_cast<std::size_t>(share) * size);
      r.to = work + static_cast<std::size_t>(own.first) * size;
      check_mpi(MPI_Ireduce_scatter_block(work, r.share.data(), share, type, op, comm, &r.request),
                "MPI_Ireduce_scatter_block");
      break;
    case CollectiveKind::kAllToAll:
      check_mpi(MPI_Ialltoall(work, share, type, work + static_cast<std::size_t>(elements) * size,
                              share, type, comm, &r.request),
                "MPI_Ialltoall");
      break;
    case CollectiveKind::kShift:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kBroadcast: PLAIT_CHECK(false, "a collective that no strategy plans");
  }
  return tickets_;
}

bool MpiLibrary::progress() {
  bool any = false;
  for (auto& [ticket, r] : running_) {
    if (r.done) continue;
    int done = 0;
    check_mpi(MPI_Test(&r.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) continue;
    if (!r.share.empty()) std::memcpy(r.to, r.share.data(), r.share.size());
    r.done = any = true;
  }
  return any;
}

bool MpiLibrary::finished(std::int64_t ticket) {
  const auto found = running_.find(ticket);
  if (!found->second.done) return false;
  running_.erase(found);
  return true;
}

}  // namespace plait
