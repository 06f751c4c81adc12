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

/// Tokens up to `until` (and from the span before on) that every request has which names the same
/// `text`: a text's number stands for all that comes before it too.
struct SharedSpan {
  std::int64_t until = 0;
  std::int64_t text = 0;  // from 0 on
  bool operator==(const SharedSpan&) const = default;
};

struct Request {
  SimTime arrival = 0;  // kClosed: when the user before has his answer
  std::int64_t prompt = 0, output = 0;
  std::size_t kind = 0;                 // of kinds_of(load)
  std::vector<SharedSpan> shared = {};  // of prompt and answer; what is behind is its own
  std::int64_t follows = -1;            // asked `pause` after this request's answer; -1: none
  SimTime pause = 0;
  bool operator==(const Request&) const = default;
};

/// What the load says, or one kind of requests by default.
std::vector<RequestKind> kinds_of(const Load& load);

/// Tokens of answers, of all requests together, that are held at most: a time for each, which is
/// sorted for the report, takes about 24 bytes, 6 GB in all.
inline constexpr std::int64_t kMostAnswered = 256'000'000;

/// Throws InputError R005 for requests that are to be held and cannot.
void require_memory(const Load& load);
/// The same of those of a trace.
void require_memory(const std::vector<Request>& requests);
/// Tokens of the answer of a request, on average.
double mean_answer(const Load& load);

/// In the order of arrival; turns of a conversation stand one behind the other.
std::vector<Request> draw_requests(const Load& load);

/// Lines of arrival_s,prompt_tokens,output_tokens and optionally kind, prefix_id and prefix_tokens,
/// conversation_id (CSV with that header), a JSON list of such objects, or Mooncake's JSON lines.
/// Requests with the same prefix_id begin with the same tokens, those of a conversation with all
/// that came before. Requests without an answer, as failures are, are left out and counted in
/// `load.unanswered`; kinds that are met are put into `load.kinds`. Throws InputError R001 and
/// J0xx.
std::vector<Request> read_trace(const std::string& text, const std::string& file, Load& load);

}  // namespace plait
