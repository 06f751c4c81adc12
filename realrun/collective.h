#pragma once
// What a plan's collective does to the numbers of a rank: executes the rounds of plan/collectives
// over a transport.

#include <memory>
#include <optional>
#include <vector>

#include "realrun/buffers.h"
#include "realrun/collective_library.h"
#include "realrun/communication.h"
#include "realrun/exchange.h"
#include "realrun/rounds_run.h"

namespace plait {

/// Part of the storage of an op's operands.
template <class T>
struct Piece {
  T* data = nullptr;
  std::int64_t elements = 0;
};
template <class T>
using CollectiveCall = CollectiveOf<Piece<T>>;

template <class T>
class CollectiveRun : public Communication {
 public:
  /// By our rounds, or by `library` unless it is null or does not know the kind.
  explicit CollectiveRun(CollectiveCall<T> call, CollectiveLibrary* library = nullptr);
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return rounds_->waits_for(); }

 private:
  bool advance_library();
  bool exchanges() const;
  std::int64_t work_elements() const;
  void gather_input();
  Range kept() const;
  void gather_served();
  void scatter_output();

  CollectiveCall<T> call_;
  CollectiveLibrary* library_;
  std::optional<RoundsRun<T>> rounds_;
  bool begun_ = false, started_ = false;  // started: at the library
  std::int64_t elements_ = 0;             // of the work buffer
  std::vector<T> own_work_;
  T* work_ = nullptr;
  std::int64_t ticket_ = 0;  // of the library
};

/// An exchange of operands that are numbers of type T in this process's memory, quantised ones in
/// bytes, or whole ones: slots of tokens. They stay there until it has ended.
template <class T>
std::unique_ptr<Communication> communication_of(const Exchange& exchange, const Operands& operands,
                                                CollectiveLibrary* library);

}  // namespace plait
