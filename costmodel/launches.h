#pragma once
// Which kernels an op is run as under a framework's choices (Kernels): the one list that its time
// and bytes (costmodel.h) and the host's calls (issue.h) come from. docs/models/issue.md counts
// them, docs/models/memory-bound.md says what chains of them move.

#include "costmodel/eager.h"
#include "model/kernels.h"
#include "model/op.h"

namespace plait {

/// What is told of each kernel of an op.
class Launches {
 public:
  Launches() = default;
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  virtual ~Launches() = default;
  /// Kernels that have a formula of their own, issued by so many calls. `op`: what they do of the
  /// op that was asked for.
  virtual void kernel(const Compute& op, int calls) = 0;
  /// Element-wise kernels, one or more.
  virtual void chain(const KernelChain& chain) = 0;
  /// Calls that move next to nothing: sums of vectors' gradients, indices, random states, numbers
  /// for the host. On the device they take no time.
  virtual void calls(std::int64_t count) = 0;
};

/// Tells all kernels of `op`, in the order of their time.
void launch(const Compute& op, const Kernels& kernels, Launches& to);

/// How many products one is that is run expert by expert; 1 where it is run as a whole.
std::int64_t experts_apart(const MatMul& op, const Kernels& kernels);

/// Products of a pass: backward that of the input's gradient and that of the weight's.
int products_of(Pass pass);

}  // namespace plait
