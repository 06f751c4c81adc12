#pragma once
// A plan as Chakra execution traces (MLCommons; schema/protobuf/et_def.proto), which ASTRA-sim and
// others replay: one file per rank, a node for each op with what it waits for, and one file that
// says which ranks each communicator has. Messages are length-delimited protocol buffers, the
// metadata first.
//
// Readers take dependencies from `data_deps` alone, so the order of each stream is among them. A
// duration is a kernel's own, in whole microseconds; communication has none, it is what a reader
// simulates.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/costmodel.h"
#include "plan/dependencies.h"
#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

class ChakraTraces {
 public:
  /// `placement`: device of each rank; empty: rank r on device r. `about` is what the metadata say:
  /// name and value.
  ChakraTraces(const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement,
               const CostModel& costs, std::vector<std::pair<std::string, std::string>> about);

  /// The trace of one rank; `write` is called with consecutive parts.
  void write(std::int64_t rank, const std::function<void(std::string_view)>& write);
  /// Of the communicators of the ranks that were written: {"1": [0, 1], ...}.
  std::string groups() const;

 private:
  std::int64_t group(const std::vector<std::int64_t>& ranks);
  struct Work {
    std::int64_t us = 0, flops = 0, bytes = 0;
  };
  /// Of a kernel on the rank; no time and no FLOPs where the rank does not run it.
  Work work_of(const Compute& c, const Op& op, std::int64_t rank) const;
  std::string node(std::int64_t rank, const Call& call, const Op& op, std::uint64_t id,
                   std::uint32_t message, const std::vector<std::uint64_t>& after);

  const Plan& plan_;
  const Cluster& cluster_;
  const std::vector<std::int64_t>& placement_;
  const CostModel& costs_;
  std::vector<std::pair<std::string, std::string>> about_;
  Dependencies dependencies_;
  std::map<std::vector<std::int64_t>, std::int64_t> groups_;
};

}  // namespace plait
