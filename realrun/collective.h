#pragma once
// What a plan's collective does to the numbers of a rank: executes the rounds of plan/collectives
// over a transport.

#include <optional>
#include <vector>

#include "realrun/collective_library.h"
#include "realrun/communication.h"
#include "realrun/rounds_run.h"

namespace plait {

/// Part of the storage of an op's operands.
template <class T>
struct Piece {
  T* data = nullptr;
  std::int64_t elements = 0;
};

/// A collective as one member sees it. `in` and `out` are the same pieces where it works in place.
///   all_reduce      in place: any number of pieces, one behind the other
///   reduce_scatter  in[elements] to out[elements / n]; in place: the own share becomes right, the
///                   rest is undefined
///   all_gather      in[elements / n] to out[elements]; in place: from the own share
template <class T>
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;
  std::vector<std::int64_t> group;  // ranks, ascending
  std::int64_t index = 0;           // of this rank in the group
  std::vector<Piece<T>> in, out;
  bool in_place = false;
  int channel = 0;
  std::uint64_t tag = 0;
  Bytes bytes;                 // nccl-tests' S, as it travels
  DType dtype = DType::kFp32;  // every sum is rounded to it
  /// Does it instead of our rounds; null: our rounds.
  CollectiveLibrary* library = nullptr;
};

template <class T>
class CollectiveRun : public Communication {
 public:
  explicit CollectiveRun(CollectiveCall<T> call);
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return rounds_->waits_for(); }

 private:
  bool advance_library();
  void gather_input();
  void scatter_output();

  CollectiveCall<T> call_;
  std::optional<RoundsRun<T>> rounds_;
  bool begun_ = false, started_ = false;  // started: at the library
  std::int64_t elements_ = 0;             // of the work buffer
  std::vector<T> own_work_;
  T* work_ = nullptr;
  std::int64_t ticket_ = 0;  // of the library
};

}  // namespace plait
