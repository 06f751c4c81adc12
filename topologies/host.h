#pragma once
// The host of a device: one thread that hands a rank's ops to its GPU, one after the other, in the
// order of the program. How long it takes depends on the processor and on the framework that runs
// on it (docs/models/issue.md).

#include "core/quantity.h"

namespace plait {

struct Host {
  Seconds launch_time;      // to issue one kernel; 0: everything is there at once
  Seconds collective_time;  // to issue one collective, send or receive
  /// Calls that a linear layer's own code costs in each pass, besides its kernels; twice as many
  /// where its product is in 8 or 4 bits.
  double linear_calls = 0;
  bool graphs = false;  // a block (a layer's pass) is one CUDA graph, issued as one kernel is
  bool routing_graph = false;  // the choice of experts is one CUDA graph
  /// After each send and receive it waits until its device has done everything.
  bool waits_for_messages = false;
  /// After each choice of experts it waits for it: to be told how many tokens each expert has.
  bool waits_for_routing = false;
  /// In front of each forward pass of attention it waits for the op before: to be told how long
  /// documents are, the longest or, unfused, each one.
  bool waits_for_lengths = false;
  /// Behind each pass of a layer, the embedding or the head it waits until its device has done
  /// everything.
  bool waits_for_passes = false;
  /// Behind each kernel it waits until that has run.
  bool blocking = false;

  bool takes_time() const {
    return launch_time.value > 0 || collective_time.value > 0 || waits_for_messages ||
           waits_for_routing || waits_for_lengths || waits_for_passes || blocking;
  }
};

}  // namespace plait
