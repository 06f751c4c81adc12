#include "realrun/launch/world.h"

#include <cstdio>
#include <exception>
#include <memory>

#include "core/error.h"
#include "realrun/buffers.h"
#include "realrun/control.h"
#include "realrun/launch/mpirun.h"
#include "realrun/launch/processes.h"
#include "realrun/launch/rank_threads.h"
#include "realrun/launch/started_ranks.h"
#include "realrun/shaped/network.h"
#include "realrun/transport/plugin.h"
#include "realrun/transport/tcp.h"

namespace plait {
namespace {

using RankBody = std::function<int(Transport&)>;

// In a namespace of our own all ports are free.
constexpr std::uint16_t kFirstShapedPort = 29500;

int run_tcp(std::int64_t ranks, const WorldOptions& options, const RankBody& body) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<TcpAddress> addresses(n, TcpAddress{"127.0.0.1", 0});
  std::vector<Descriptor> listeners(n);
  for (std::size_t r = 0; r < n; ++r) {
    if (options.network == nullptr) {
      listeners[r] = listen_at(addresses[r]);
      continue;
    }
    const std::int64_t host = static_cast<std::int64_t>(r) / options.ranks_per_host;
    addresses[r] = {options.network->address(host),
                    static_cast<std::uint16_t>(kFirstShapedPort + r)};
  }
  return run_processes(ranks, [&](std::int64_t rank) {
    Descriptor& listener = listeners[static_cast<std::size_t>(rank)];
    if (options.network != nullptr) {
      options.network->enter(rank / options.ranks_per_host);
      listener = listen_at(addresses[static_cast<std::size_t>(rank)]);
    }
    Descriptor own = std::move(listener);
    listeners.clear();  // whoever connects to a rank that has died shall be refused
    const std::unique_ptr<Transport> transport =
        connect_ranks(rank, addresses, std::move(own), transport_channels(), options.patience_s);
    return body(*transport);
  });
}

std::unique_ptr<Transport> join(const StartedRank& started, const WorldOptions& options) {
  if (options.transport == "mpi") {
    std::unique_ptr<Transport> transport = load_mpi_transport(transport_channels());
    if (transport->ranks() == started.ranks) return transport;
    throw EnvironmentError(started.by + " started " + std::to_string(started.ranks) +
                           " ranks, but MPI knows of " + std::to_string(transport->ranks()) +
                           ": start them with the mpirun of the MPI that this program was built "
                           "with, or use --transport tcp");
  }
  Descriptor listener;
  const std::vector<TcpAddress> addresses =
      meet(started.rank, started.ranks, started.meeting, listener, options.patience_s);
  return connect_ranks(started.rank, addresses, std::move(listener), transport_channels(),
                       options.patience_s);
}

/// The MPI transport ends all ranks when one fails, before anybody could say why.
int as_started(Transport& transport, const RankBody& body) {
  try {
    return body(transport);
  } catch (const std::exception& e) {
    if (transport.name() == "mpi") std::fprintf(stderr, "error: %s\n", e.what());
    throw;
  }
}

/// True when they are as many as the plan has. Rank 0 complains for all.
bool right_number(std::int64_t ranks, const StartedRank& started, const std::string& transport) {
  const bool threads = transport == "threads";
  const std::int64_t processes = threads ? 1 : ranks;
  if (started.ranks == processes) return true;
  if (started.rank != 0) return false;
  const std::string those = std::to_string(started.ranks) + " ranks";
  if (threads) {
    throw InputError(
        {.code = "G013",
         .problem = started.by + " started " + those + ", but threads are ranks of one process",
         .expected = "one process, or another transport",
         .cure = "add --transport mpi or --transport tcp"});
  }
  throw InputError(
      {.code = "G013",
       .problem = started.by + " started " + those + ", but the plan has " + std::to_string(ranks),
       .expected = "as many ranks as the mesh has",
       .cure = "start " + std::to_string(ranks) +
               " ranks, or change the strategy and the cluster of the scenario"});
}

}  // namespace

int run_world(std::int64_t ranks, const WorldOptions& options, const RankBody& body) {
  keep_freed_memory();
  const std::optional<StartedRank> started = started_rank();
  if (started && !right_number(ranks, *started, options.transport)) return 0;
  if (options.transport == "threads") return run_threads(ranks, body);
  if (started) {
    name_process(started->rank);
    return as_started(*join(*started, options), body);
  }
  if (options.transport == "mpi") return run_mpirun(ranks, options.command);
  return run_tcp(ranks, options, body);
}

}  // namespace plait
