#pragma once
// The lines of a file that says which requests are asked, as they stand there.

#include <cstdint>
#include <string>
#include <vector>

namespace plait {

struct TraceRow {
  double arrival_s = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;  // 0 of output: it failed
  std::string kind = "all";
  std::string prefix_id;  // of the first prefix_tokens, which are in prompt_tokens
  std::int64_t prefix_tokens = 0;
  std::string conversation_id;
  std::vector<std::int64_t> hash_ids;
  int line = 0;
};

/// CSV with a header (also that of Azure's, BurstGPT's and Vidur's traces; with ; or tabs in place
/// of commas), a JSON list of objects with the same keys or one object a line, or Mooncake's JSON
/// lines (timestamp in milliseconds, input_length, output_length, hash_ids; Qin et al. 2024,
/// section 4). Times by the calendar, or of more than 100 days from a start, count from the first.
/// Throws InputError R001 and J0xx.
std::vector<TraceRow> read_trace_rows(const std::string& text, const std::string& file);

[[noreturn]] void refuse_trace(const std::string& file, int line, const std::string& problem);

}  // namespace plait
