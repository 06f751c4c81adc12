#pragma once
// Which events of a trace belong to which step, and how long each step took.
//
// A host runs ahead of its device: an event belongs to the step in which it was launched, whenever
// it ran. A step lasts from the start of its first event to the start of the next step's first; the
// last one, which has no next, from there to its last event's end or as long as the host spent on
// it, whichever is longer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/profile/kineto.h"

namespace plait {

struct DeviceStep {
  std::int64_t number = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  bool followed = false;              // by a step whose first event ends it
  std::vector<std::uint32_t> events;  // indices, by start
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

struct TraceSteps {
  std::vector<DeviceStep> whole;         // in order; one or more
  std::vector<std::int64_t> incomplete;  // numbers of steps that are left out
  std::int32_t device = 0;               // the one that did most of the work
  std::int64_t other_devices = 0;        // that worked too
  std::int64_t outside = 0;              // events of the device that are in no step
  std::int64_t as_many = 0;              // steps that the only entry of `whole` stands for
};

/// `as_many`: the trace as a whole is so many steps, whatever is annotated. Throws InputError K013
/// where there are no steps, or none that is complete.
TraceSteps steps_of(const KinetoTrace& trace, std::optional<std::int64_t> as_many = {});

/// The launch of an event, or nullptr.
const TraceLaunch* launch_of(const KinetoTrace& trace, const TraceEvent& event);

/// Index into `whole` of the step of median length (of an even number the shorter one of both in
/// the middle). Steps that another follows come before the last, whose length is less certain.
std::size_t median_step(const TraceSteps& steps);

}  // namespace plait
