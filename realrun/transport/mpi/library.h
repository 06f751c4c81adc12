#pragma once
// MPI's own non-blocking collectives.

#include <mpi.h>

#include <map>
#include <vector>

#include "realrun/collective_library.h"

namespace plait {

/// Throws EnvironmentError with MPI's words where `code` is no success.
void check_mpi(int code, const char* what);

class MpiLibrary : public CollectiveLibrary {
 public:
  /// `world` outlives the library; rank r of a group is rank r of the world.
  explicit MpiLibrary(MPI_Comm world) : world_(world) {}
  ~MpiLibrary() override;

  void prepare(int channel, std::span<const std::int64_t> group) override;
  std::int64_t start(CollectiveKind kind, Reduction reduction, int channel,
                     std::span<const std::int64_t> group, Range own, std::byte* work,
                     std::int64_t elements, std::size_t size) override;
  bool finished(std::int64_t ticket) override;
  /// Lets MPI work on all of them; true when one has ended.
  bool progress();

 private:
  struct Running {
    MPI_Request request = MPI_REQUEST_NULL;
    bool done = false;
    std::vector<std::byte> share;  // a reduce_scatter's result
    std::byte* to = nullptr;       // where it belongs
  };
  MPI_Comm world_;
  std::map<std::pair<int, std::vector<std::int64_t>>, MPI_Comm> groups_;  // by channel
  std::map<std::int64_t, Running> running_;
  std::int64_t tickets_ = 0;
};

}  // namespace plait
