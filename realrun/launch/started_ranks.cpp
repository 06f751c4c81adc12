#include "realrun/launch/started_ranks.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace plait {
namespace {

struct Launcher {
  const char *by, *rank, *ranks, *local_ranks;  // the last may be unset
};
// Open MPI; MPICH and other PMI launchers; Slurm (srun); torchrun.
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
};
constexpr std::uint16_t kMeetingPort = 29500;  // torchrun's default

std::int64_t number(const char* name, std::int64_t most) {
  const char* text = std::getenv(name);
  std::int64_t out = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, out);
  if (error != std::errc() || stop != end || out < 0 || out > most) {
    throw InputError(
        {.code = "G013",
         .problem = std::string("the environment variable ") + name + " is '" + text + "'",
         .expected = "a number up to " + std::to_string(most),
         .cure = "set it as the launcher would, or unset it"});
  }
  return out;
}

}  // namespace

std::optional<StartedRank> started_rank() {
  for (const Launcher& l : kLaunchers) {
    if (std::getenv(l.rank) == nullptr || std::getenv(l.ranks) == nullptr) continue;
    constexpr std::int64_t kMostRanks = 1 << 24;
    StartedRank out;
    out.by = l.by;
    out.rank = number(l.rank, kMostRanks), out.ranks = number(l.ranks, kMostRanks);
    const char* local = std::getenv(l.local_ranks);
    out.one_machine = local != nullptr && std::to_string(out.ranks) == local;
    if (out.rank >= out.ranks) {
      throw InputError({.code = "G013",
                        .problem = "the environment says rank " + std::to_string(out.rank) +
                                   " of " + std::to_string(out.ranks),
                        .expected = std::string(l.rank) + " below " + l.ranks,
                        .cure = "count ranks from 0"});
    }
    const char* host = std::getenv("MASTER_ADDR");
    out.meeting = {host != nullptr ? host : "127.0.0.1", kMeetingPort};
    if (std::getenv("MASTER_PORT") != nullptr) {
      out.meeting.port = static_cast<std::uint16_t>(number("MASTER_PORT", 65535));
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace plait
