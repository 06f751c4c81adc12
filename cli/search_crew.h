#pragma once
// A search on several processes that mpirun, srun or torchrun started, over any transport of real
// runs. Rank 0 leads: it hands out pieces of each question to whoever is free, and keeps what is
// known. The others answer until they are told that it is over. The answer is that of one process.

#include <functional>
#include <memory>

#include "prediction/search/crews.h"

namespace plait {

class Transport;

/// The ranks of the search that this process is one of.
class SearchRanks : public Crews {
 public:
  /// This process alone.
  SearchRanks() = default;
  explicit SearchRanks(Transport& transport) : transport_(&transport) {}

  bool leads() const;
  /// Of the leader: everybody, with `threads` threads each. They must be at this work too.
  std::unique_ptr<Crew> crew(SearchWork& work, int threads) const override;
  /// Several ranks are at one space at a time.
  bool may_look_ahead() const override { return transport_ == nullptr; }
  /// Of the others: answers the leader. False when there will be no further space.
  bool follow(SearchWork& work, int threads) const;
  /// Of the leader: the others go on to the next space, if there is one to come.
  void dismiss(bool for_good) const override;

 private:
  Transport* transport_ = nullptr;
};

/// Runs `body` on the ranks that a launcher started, else on this process alone. Returns its exit
/// code. Throws what run_world throws.
int on_search_ranks(const std::function<int(const SearchRanks&)>& body);

/// Whether a launcher started this process as one of several.
bool started_by_launcher();

/// True where this process is not the first of those that a launcher started: it stays silent.
bool another_rank_speaks();

}  // namespace plait
