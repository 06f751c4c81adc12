#include "scenarios/dialects/llama_cpp/llama_cpp_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace plait::llama_cpp {
namespace {

/// tools/llama-bench/README.md at 08d0baac.
constexpr std::int64_t kPrompt = 512, kAnswer = 128, kDepth = 0, kRepetitions = 5;

struct Count {
  const char* option;
  std::int64_t otherwise;
};

/// The first number of a list, "512,1024", which is one of llama-bench's tests.
std::int64_t first_of(Arguments& args, const Count& count, Imported& out) {
  const std::vector<ShellWord> words = args.values_of(count.option);
  if (words.empty()) return count.otherwise;
  const std::string& text = words.front().text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) args.malformed(count.option, "a number of tokens");
  const std::string rest(end, text.data() + text.size());
  if (!rest.empty() || words.size() > 1) {
    warn_unread({fmt::format("values of {} behind {}", count.option, value)}, out.warnings);
  }
  return value;
}

std::string closed(std::int64_t requests, std::int64_t prompt, std::int64_t answer) {
  return fmt::format(
      R"({{"arrivals": "closed", "concurrency": 1, "count": {}, "kinds": [{{"prompt_tokens": {}, "output_tokens": {}}}]}})",
      requests, std::max<std::int64_t>(prompt, 1), std::max<std::int64_t>(answer, 1));
}

}  // namespace

void read_load(Arguments& args, bool benchmark, Imported& out) {
  constexpr const char* kPath = "serving.requests";
  constexpr std::int64_t kRequests = 16, kTokensOfPrompt = 1024, kTokensOfAnswer = 128;
  if (!benchmark) {
    const std::int64_t most = args.integer("--predict", -2).value_or(-1);
    return out.give_default(kPath,
                            closed(kRequests, kTokensOfPrompt, most > 0 ? most : kTokensOfAnswer));
  }
  const std::int64_t prompt = first_of(args, {"-p", kPrompt}, out);
  const std::int64_t answer = first_of(args, {"-n", kAnswer}, out);
  const std::int64_t depth = first_of(args, {"-d", kDepth}, out);
  const std::int64_t repetitions =
      std::max<std::int64_t>(args.integer("-r").value_or(kRepetitions), 1);
  out.warnings.push_back(
      {"W008",
       fmt::format("llama-bench's tests are read as one request: a prompt of {} tokens{}, then an "
                   "answer of {}",
                   prompt, depth > 0 ? fmt::format(" behind {}, which it computes too", depth) : "",
                   answer)});
  const std::string json = closed(repetitions, depth + prompt, answer);
  const bool said = args.flag("-p") || args.flag("-n") || args.flag("-d");
  said ? out.give(kPath, json, args.line("-p")) : out.give_default(kPath, json);
}

}  // namespace plait::llama_cpp
