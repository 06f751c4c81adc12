#pragma once
// What a report of a load does not tell by itself: that requests come faster than they are
// answered, so that their waits say more of their number than of the machine, that the model is
// published in fewer bits than it is served in, and that a drive is read in each step.

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/scenario.h"
#include "serving/capacity.h"
#include "serving/serve.h"

namespace plait {

/// W019 where more requests than chance explains wait for their first token when the last one
/// arrives; not of users of a closed loop and of conversations, who wait for answers, nor of
/// requests that are all asked before any has a token, or of a trace nearly so. `requests` and the
/// service's are in one order.
Warnings doubts_of_load(const std::vector<Request>& requests, const Service& service,
                        const Load& load);

/// W029 where host memory does not hold all of a mapped file that must be in it.
Warnings doubts_of_mapped_weights(const CacheCapacity& capacity);

/// W020 where the model's publisher offers it narrower, and the scenario does not say that it is
/// served otherwise.
Warnings doubts_of_precision(const Scenario& scenario);

/// W030 where steps are issued kernel by kernel, and a kernel takes no time to be issued.
Warnings doubts_of_issue(const Scenario& scenario);

}  // namespace plait
