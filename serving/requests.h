#pragma once
// What is asked of a server: requests with the time at which they arrive, the length of their
// prompts and of their answers. Drawn by a counter (core/random.h), so that the same seed asks the
// same on every machine; or read from a trace.

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "plan/requests.h"

namespace plait {

struct Request {
  SimTime arrival = 0;  // kClosed: when the user before has his answer
  std::int64_t prompt = 0, output = 0;
  std::size_t kind = 0;  // of kinds_of(load)
  bool operator==(const Request&) const = default;
};

/// What the load says, or one kind of requests by default.
std::vector<RequestKind> kinds_of(const Load& load);

/// In the order of arrival.
std::vector<Request> draw_requests(const Load& load);

/// Lines of arrival_s,prompt_tokens,output_tokens and optionally kind (CSV with that header), or a
/// JSON list of such objects. Kinds that are met are put into `load.kinds`. Throws InputError R001
/// and J0xx, EnvironmentError.
std::vector<Request> read_trace(const std::string& text, const std::string& file, Load& load);

}  // namespace plait
