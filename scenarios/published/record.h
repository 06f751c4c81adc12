#pragma once
// A training run that somebody published: what was trained, on what, how it was split, and what was
// measured. A record file is a JSON list of such runs; what a source did not publish is absent.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "plan/strategy.h"
#include "scenarios/published/members.h"

namespace plait {

/// Which bytes a published memory figure counts.
enum class MemoryStatistic : std::uint8_t {
  kAllocated,  // torch.cuda.max_memory_allocated: tensors, in the allocator's blocks
  kReserved,   // what the framework took from the driver; also where a source does not say
  kDevice      // nvidia-smi: everything on the device, context and communicators included
};
std::string name_of(MemoryStatistic s);

struct PublishedModel {
  std::string name;
  std::int64_t layers = 0, hidden = 0, ffn_hidden = 0, heads = 0, kv_heads = 0;
  std::int64_t vocab = 0, sequence_length = 0;  // 0: not published
  std::int64_t experts = 0, experts_per_token = 0, expert_ffn_hidden = 0;
  std::string shared_experts;  // "1 shared expert, intermediate 20480"; a number of them
  std::int64_t first_dense_layers = 0;
  std::string attention;  // "MLA"
  bool gated_mlp = false;
  std::optional<bool> tied_embeddings;
  std::vector<RecordField> fields;  // that go into a scenario as they are
};

struct PublishedLayout {
  std::int64_t tp = 1, cp = 1, pp = 1;
  std::int64_t dp = 0;           // 0: what is left of the devices; of the dense weights
  std::int64_t ep = 1, etp = 0;  // ranks per expert mesh; etp 0: not published
  std::optional<bool> sequence_parallel;
  std::optional<std::int64_t> zero_stage;
  std::int64_t zero_group = 0;  // replicas that share what it shards; 0: all
  std::int64_t chunks = 0;      // virtual stages per rank; 0: not published
  bool most_chunks = false;     // "max (1 layer per chunk)"
  std::string schedule, fsdp, offload;
};

/// What was measured; rates as they were published.
struct Measured {
  std::optional<double> step_s;
  std::optional<double> model_tflops_per_gpu;     // without recomputed work
  std::optional<double> hardware_tflops_per_gpu;  // with it
  std::optional<double> mfu, hfu;                 // shares of the peak
  bool half_squares = false;   // these rates count the half of attention that is not masked
  bool says_oom = false;       // as published
  bool out_of_memory = false;  // and nothing that only one that ran has
  bool says_memory = false;    // whether it fitted was published, or what only one that ran has
  std::optional<double> memory_bytes;
  MemoryStatistic memory_statistic = MemoryStatistic::kReserved;
  bool memory_of_last_rank = false;  // else of the fullest
  /// Where the source does not say: "GB of 2^30 bytes".
  std::string memory_taken;
};

struct PublishedRun {
  std::string id, source, tier, task, notes, flags;
  /// Words on the software: framework, kernel, further arguments and adapters, where published.
  std::string framework, kernel, arguments, adapters;
  PublishedModel model;
  std::string gpu, interconnect, processors;
  std::int64_t gpus = 0, gpus_per_node = 0;  // 0: not published
  PublishedLayout layout;
  bool has_layout = true;                          // it is published
  std::int64_t global_batch = 0, micro_batch = 0;  // sequences; 0: not published
  std::int64_t accumulation = 0;                   // micro-batches of a step; 0: not published
  std::string batch_taken;                         // how the global one follows, if it does
  std::vector<RecordField> workload_fields;        // that go into a scenario as they are
  std::string precision, recompute, optimizer;
  std::optional<PassProfile> profile;  // of a stage's passes, in ms; `kept` is not published
  Measured measured;
  std::vector<std::string> unread;  // members that nobody reads
  std::string refused;              // why it cannot be read, where it cannot

  /// Ranks that work on different sequences; where that is not published, what the other axes leave
  /// of the devices.
  std::int64_t replicas() const {
    if (layout.dp > 0) return layout.dp;
    const std::int64_t others = std::max<std::int64_t>(1, layout.tp * layout.pp * layout.cp);
    return std::max<std::int64_t>(1, gpus / others);
  }
};

/// Fills in what was not published, which is 0, empty or nothing.
template <typename T>
void complete(T& published, const T& known) {
  if (published == T{}) published = known;
}

/// Whether a source says `words`.
inline bool mentions(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

/// Whether a regular expression occurs in a text.
bool has_pattern(const std::string& text, const char* pattern);

/// The whole number that `digits` of a record's words are: 20480 in "1 shared expert, intermediate
/// 20480". Throws NotRepresentable, with the words, where they are none or out of all proportion.
std::int64_t count_in(std::string_view words, std::string_view digits);

/// What stands behind an argument of a run, by a regular expression of its name, and the number
/// there, 64 behind "--kv-lora-rank", as count_in has it.
std::optional<std::string> word_behind(const PublishedRun& run, const std::string& argument);
std::optional<std::int64_t> number_behind(const PublishedRun& run, const std::string& argument);

/// Reads a list of records. Members that are not read are listed in `unread`. Throws InputError
/// V001 for a file that is no list of records, with the place of what is wrong.
std::vector<PublishedRun> read_published_runs(const JsonDocument& document);

}  // namespace plait
