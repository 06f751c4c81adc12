// Requests as a file says (serving/trace_rows.h), with what they have in common.
#include <algorithm>
#include <map>
#include <utility>

#include "core/quantity.h"
#include "serving/requests.h"
#include "serving/trace_rows.h"

namespace plait {
namespace {

constexpr std::int64_t kHashedTokens = 512;  // of a hash_id: Qin et al. 2024, section 4

std::size_t kind_of(const std::string& name, std::vector<RequestKind>& kinds) {
  const auto found = std::ranges::find(kinds, name, &RequestKind::name);
  if (found != kinds.end()) return static_cast<std::size_t>(found - kinds.begin());
  kinds.push_back({});
  kinds.back().name = name;
  return kinds.size() - 1;
}

/// Numbers texts as they are met. A conversation's stands for its prefix too.
class Texts {
 public:
  explicit Texts(const std::string& file) : file_(file) {}

  std::vector<SharedSpan> shared(const TraceRow& r) {
    require_sound(r);
    std::vector<SharedSpan> out = hashed(r);
    if (!r.prefix_id.empty())
      out.push_back({r.prefix_tokens, number({"prefix " + r.prefix_id, ""})});
    if (!r.conversation_id.empty()) {
      out.push_back({r.prompt_tokens + r.output_tokens,
                     number({"prefix " + r.prefix_id, r.conversation_id})});
    }
    return out;
  }

 private:
  void require_sound(const TraceRow& r) const {
    const bool named = !r.prefix_id.empty();
    if (named != (r.prefix_tokens > 0) || r.prefix_tokens > r.prompt_tokens) {
      refuse_trace(file_, r.line,
                   "a prefix without its name or its tokens, or longer than its prompt");
    }
    const auto hashed = static_cast<std::int64_t>(r.hash_ids.size());
    if (hashed > ceil_div(r.prompt_tokens, kHashedTokens) ||
        (hashed > 0 && (named || !r.conversation_id.empty()))) {
      refuse_trace(file_, r.line,
                   "more hash_ids than the prompt has blocks of 512 tokens, or beside a prefix");
    }
  }
  std::vector<SharedSpan> hashed(const TraceRow& r) {
    std::vector<SharedSpan> out;
    for (const std::int64_t id : r.hash_ids) {
      const std::int64_t until = static_cast<std::int64_t>(out.size() + 1) * kHashedTokens;
      out.push_back({std::min(until, r.prompt_tokens), number({"hash", std::to_string(id)})});
    }
    return out;
  }
  std::int64_t number(const std::pair<std::string, std::string>& name) {
    return numbers_.emplace(name, std::ssize(numbers_)).first->second;
  }

  const std::string& file_;
  std::map<std::pair<std::string, std::string>, std::int64_t> numbers_;
};

}  // namespace

std::vector<Request> read_trace(const std::string& text, const std::string& file, Load& load) {
  load.kinds.clear();
  load.unanswered = 0;
  Texts texts(file);
  std::vector<Request> out;
  for (const TraceRow& r : read_trace_rows(text, file)) {
    if (r.output_tokens == 0) {
      ++load.unanswered;
      continue;
    }
    out.push_back({to_sim_time(Seconds(r.arrival_s)), r.prompt_tokens, r.output_tokens,
                   kind_of(r.kind, load.kinds), texts.shared(r)});
  }
  if (out.empty()) refuse_trace(file, 1, "a trace without requests that were answered");
  std::ranges::stable_sort(out, {}, &Request::arrival);
  return out;
}

}  // namespace plait
