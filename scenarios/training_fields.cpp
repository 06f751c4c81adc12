#include "scenarios/fields.h"

namespace plait {
namespace {

constexpr double kCentury = 100.0 * 365 * 86400;  // s

const Table<Checkpointing>& checkpoint_table() {
  using C = Checkpointing;
  static const Table<C> table(
      "training.checkpoint",
      {
          field("interval", &C::interval, Amount<Seconds>{.max = kCentury},
                "Of training between two checkpoints, in whole steps.")
              .otherwise("what makes the training shortest")
              .silent_by_default(),
          field("bandwidth", &C::bandwidth, Amount<BytesPerSecond>{},
                "What the store takes from all nodes together, and gives them after a failure.")
              .otherwise("1.2 GB/s for each host, BLOOM's")
              .silent_by_default(),
          field("asynchronous", &C::asynchronous, Flag{},
                "Training waits until the state is in host memory, not until it is in the store."),
      },
      "interval");
  return table;
}

}  // namespace

const Table<Training>& training_table() {
  using T = Training;
  static const Table<T> table(
      "training",
      {
          field("tokens", &T::tokens, Real{.min = 1, .max = 1e18}, "To be trained on.").required(),
          field("device_mtbf", &T::device_mtbf, Amount<Seconds>{},
                "Mean time between failures of a device, with its share of hosts and network; each "
                "stops the training. \"0 s\": none fails.")
              .otherwise("\"50700 h\", Llama 3 405B's"),
          field("restart_time", &T::restart_time, Amount<Seconds>{.max = kCentury},
                "From a failure to the next step, without reading the checkpoint.")
              .otherwise("\"10 min\""),
          field("checkpoint", &T::checkpoint, Nested{&checkpoint_table()},
                "The state of training, written to a store that every node reaches."),
      });
  return table;
}

}  // namespace plait
