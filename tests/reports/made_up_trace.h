#pragma once
// Traces put together event by event, for tests of what is made of them.

#include "reports/profile/trace_steps.h"

namespace plait {

class MadeUpTrace {
 public:
  KinetoTrace trace;

  /// "ProfilerStep#number" on the host.
  void step(std::int64_t number, std::int64_t start_ns, std::int64_t end_ns) {
    trace.steps.push_back({number, start_ns, end_ns});
  }
  /// A kernel whose launch begins at `launched` and takes 1 ns; -1: it was not recorded.
  TraceEvent& kernel(const std::string& name, std::int64_t launched, std::int64_t start_ns,
                     std::int64_t end_ns) {
    TraceEvent e{.start_ns = start_ns, .end_ns = end_ns};
    e.name = static_cast<std::uint32_t>(trace.names.size());
    trace.names.push_back(name);
    if (launched >= 0) {
      e.correlation = std::ssize(trace.launches) + 1;
      trace.launches.push_back({e.correlation, launched, launched + 1});
    }
    trace.events.push_back(e);
    return trace.events.back();
  }
  /// A kernel of NCCL's with metadata.
  void message(const std::string& name, const TraceCall& call, std::int64_t launched,
               std::int64_t start_ns, std::int64_t end_ns) {
    kernel(name, launched, start_ns, end_ns).call = static_cast<std::int32_t>(trace.calls.size());
    trace.calls.push_back(call);
  }
};

}  // namespace plait
