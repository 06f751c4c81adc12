#pragma once
// What a report of a load does not tell by itself: that requests come faster than they are
// answered, so that their waits say more of their number than of the machine, and that the model is
// published in fewer bits than it is served in.

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "serving/serve.h"

namespace plait {

/// W019 where more requests than chance explains wait for their first token when the last one
/// arrives; not of users of a closed loop and of conversations, who wait for answers, nor of
/// requests that are asked all at once. `requests` and the service's are in one order.
std::vector<std::string> doubts_of_load(const std::vector<Request>& requests,
                                        const Service& service, const Load& load);

/// W020 where the model's publisher offers it narrower, and the scenario does not say that it is
/// served otherwise.
std::vector<std::string> doubts_of_precision(const Scenario& scenario);

}  // namespace plait
