#include "scenarios/published/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "core/capped_product.h"
#include "core/compiled.h"
#include "core/parse_number.h"
#include "core/spelling.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/not_representable.h"
#include "scenarios/published/peak_memory.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/record_part.h"

namespace plait {
namespace {

std::optional<std::string> found_behind(const PublishedRun& run, const std::string& argument,
                                        const char* what) {
  std::smatch found;
  if (!std::regex_search(run.arguments, found, compiled(argument + " (" + what + ")")))
    return std::nullopt;
  return found[1].str();
}

PublishedModel model_of(RecordPart& m) {
  PublishedModel out;
  out.name = m.text("name");
  out.layers = m.count("layers", 0);
  out.hidden = m.count("hidden", 0);
  out.ffn_hidden = m.count("ffn_hidden", 0);
  out.heads = m.count("heads", 0);
  out.kv_heads = m.count("kv_heads", 0);
  out.vocab = m.count("vocab", 0);
  out.sequence_length = m.length("seq_len", 0);
  out.experts = m.count("experts", 0);
  out.experts_per_token = m.count("topk", 0);
  out.expert_ffn_hidden = m.count("moe_ffn_hidden", 0);
  out.shared_experts = m.words("shared_experts");
  out.first_dense_layers = m.count("first_dense_layers", 0);
  out.attention = m.text("attention");
  out.gated_mlp = m.flag("gated_mlp").value_or(is_gated_by_name(out));
  out.tied_embeddings = m.flag("tied_embeddings");
  if (const auto untied = m.flag("untied")) out.tied_embeddings = !*untied;
  out.fields = fields_of_scenario(m);
  return out;
}

/// The product of the axes that are published.
std::int64_t devices_of(const PublishedLayout& p) {
  return capped_product({p.tp, p.cp, p.pp, std::max<std::int64_t>(1, p.dp)});
}

/// Empties words of which each mention of `pattern` is denied.
void empty_where_denied(std::string& words, const char* pattern) {
  if (said_in(plain_text(words), pattern) == false) words.clear();
}
constexpr const char* kSharding = "shard|fsdp|zero|hsdp|deepspeed";
/// With what is said to be moved, so that "no CPU offload" denies one thing.
constexpr const char* kOffloading =
    R"(\b(?:(?:cpu|host|nvme|activations?|optimi[sz]er|param\w*|weights?|states?|zero) )*)"
    R"((?:offload|cpu\b|host\b|nvme\b))";

/// Words, or over how many ranks: 8 is FULL_SHARD over eight, 1 is none.
void read_shards(RecordPart& p, PublishedLayout& out) {
  if (!p.number("fsdp")) {
    out.fsdp = p.kind("fsdp");
    empty_where_denied(out.fsdp, kSharding);
    return;
  }
  const std::int64_t ranks = p.count("fsdp", 0);
  out.fsdp = ranks > 1 ? fmt::format("FSDP over {} ranks", ranks) : "";
  if (out.zero_group == 0 && ranks > 1) out.zero_group = ranks;
}

/// A number, or the one in "ZeRO-1" and "1 (distributed optimizer)".
std::optional<std::int64_t> stage_of(RecordPart& p) {
  static const std::regex kStage(R"((?:^|zero|stage)[ -]?([0-3])\b)");
  const std::string words = lower_case(p.text("zero_stage"));
  std::smatch found;
  if (std::regex_search(words, found, kStage)) return found.str(1).front() - '0';
  const std::int64_t stage = p.count("zero_stage", -1);
  return stage < 0 ? std::nullopt : std::optional(stage);
}

PublishedLayout layout_of(RecordPart& p) {
  PublishedLayout out;
  out.tp = p.size("tp", 1);
  out.cp = p.size("cp", 1);
  out.pp = p.size("pp", 1);
  out.dp = p.count("dp", 0);
  out.ep = p.size("ep", 1);
  out.etp = p.count("etp", 0);
  out.sequence_parallel = p.flag("sp");
  out.zero_stage = stage_of(p);
  out.zero_group = p.count("zero_group", 0);
  out.most_chunks = p.text("vpp").starts_with("max");
  if (!out.most_chunks) out.chunks = p.count("vpp", 0);
  out.schedule = p.kind("schedule");
  read_shards(p, out);
  out.offload = p.kind("offload");
  empty_where_denied(out.offload, kOffloading);
  if (devices_of(out) > kMostCounted)
    refuse_record(p.json(), "a layout of too many devices", "up to 1e9");
  return out;
}

/// Seconds of a step from whichever rate was published: tokens before samples, which tables round
/// to few digits.
std::optional<double> step_seconds(RecordPart& m, const PublishedRun& run) {
  const auto time = m.amount("iteration_time_s"), derived = m.amount("iteration_time_s_derived");
  const auto sequences = static_cast<double>(run.global_batch);
  const double tokens = sequences * static_cast<double>(run.model.sequence_length);
  const auto gpus = static_cast<double>(run.gpus);
  struct Rate {
    std::optional<double> published;
    double work;  // of a step, in the rate's unit; 0: not known
  };
  const Rate rates[] = {{m.amount("tokens_per_s"), tokens},
                        {m.amount("tokens_per_s_per_gpu"), gpus > 0 ? tokens / gpus : 0},
                        {m.amount("samples_per_s"), sequences},
                        {m.amount("samples_per_s_per_gpu"), gpus > 0 ? sequences / gpus : 0}};
  if (time) return time;
  for (const Rate& rate : rates) {
    if (rate.published && rate.work > 0) return rate.work / *rate.published;
  }
  return derived;
}

/// Narayanan et al. 2021 count recomputed work in their FLOP/s, as Megatron-LM's tables of that
/// time do; later ones do not.
bool counts_recomputed_work(const PublishedRun& run) {
  return mentions(run.source, "SC21") || mentions(run.source, "Megatron-LM README image");
}

/// Half of a causal mask, as a source says itself, or Megatron-LM's function by 2025
/// (model/iteration_flops.h). The zoo's rows with a time and a rate agree with that: 245 TFLOP/s x
/// 256 x 19.7 s are 147 GFLOP a token of Qwen3-235B, whose half squares make 148 and whole ones
/// 167.
bool counts_half_squares(const PublishedRun& run) {
  return mentions(run.source, "ModelZoo") || mentions(run.source, "moe-modelzoo") ||
         mentions(run.notes, "causal model FLOPs");
}

Measured measured_of(RecordPart& m, const PublishedRun& run) {
  Measured out;
  out.step_s = step_seconds(m, run);
  out.model_tflops_per_gpu = m.amount("model_tflops_per_gpu");
  out.hardware_tflops_per_gpu = m.amount("hw_tflops_per_gpu");
  auto& usual =
      counts_recomputed_work(run) ? out.hardware_tflops_per_gpu : out.model_tflops_per_gpu;
  const auto tflops = m.amount("tflops_per_gpu");
  if (!usual) usual = tflops;
  out.mfu = m.share("mfu"), out.hfu = m.share("hfu");
  out.half_squares = counts_half_squares(run);
  out.says_oom = m.flag("oom").value_or(false);
  const bool ran =
      out.step_s || out.model_tflops_per_gpu || out.hardware_tflops_per_gpu || out.mfu || out.hfu;
  out.out_of_memory = out.says_oom && !ran;
  out.says_memory = out.says_oom || ran;
  // The source's own word on its times, or faster than its GPUs can be.
  if (mentions(run.flags, "memory only") || mentions(run.flags, "would exceed peak FLOP/s")) {
    out.step_s = out.model_tflops_per_gpu = out.hardware_tflops_per_gpu = std::nullopt;
    out.mfu = out.hfu = std::nullopt;
  }
  read_peak_memory(m, out);
  if (out.memory_bytes) out.says_memory = true;
  // Whatever the framework: FlagPerf, training/nvidia/nvidia_monitor.py, and its READMEs' "actual /
  // total" of the device's memory.
  if (mentions(run.source, "FlagPerf")) out.memory_statistic = MemoryStatistic::kDevice;
  out.memory_of_last_rank = mentions(run.notes, "(last rank)");
  return out;
}

std::optional<PassProfile> profile_of(RecordPart& p) {
  const auto f = p.amount("TF"), b = p.amount("TB"), w = p.amount("TW");
  const auto exchange = p.number("Tcomm");  // 0 is an answer
  if (!f || !b || !w) return std::nullopt;
  return PassProfile{*f, *b, *w, std::max(0.0, exchange.value_or(0))};
}

void read_words(RecordPart& r, PublishedRun& out) {
  out.source = r.text("source");
  out.tier = r.text("tier");
  out.task = r.text("task_kind");
  out.notes = r.text("notes");
  out.flags = r.words("flags");
  const std::string framework = r.text("framework"), system = r.text("system");
  out.framework = framework + (framework.empty() || system.empty() ? "" : "; ") + system;
  out.kernel = r.text("kernel");
  out.arguments = r.words("extra_args");
  out.adapters = r.words("adapters");
  out.precision = r.said("precision");
  out.recompute = r.said("recompute");
  out.optimizer = r.text("optimizer");
}

void read_cluster(RecordPart& c, PublishedRun& out) {
  out.gpu = c.text("gpu");
  out.interconnect = c.text("interconnect");
  out.processors = c.text("processors");
  out.gpus = c.size("num_gpus", 0);
  out.gpus_per_node = c.count("gpus_per_node", 0);
}

/// Of global batch, micro-batch and steps of accumulation, what is not published follows from the
/// others.
void read_batch(RecordPart& b, PublishedRun& out) {
  out.global_batch = b.size("global_batch", 0);
  out.micro_batch = b.size("micro_batch", 0);
  const std::int64_t steps = out.accumulation = b.count("grad_accum", 0);
  const std::int64_t parts = out.replicas() * steps;
  out.workload_fields = fields_of_scenario(b);
  const bool follows = parts > 0 && out.global_batch % parts == 0;
  if (out.micro_batch == 0 && follows) out.micro_batch = out.global_batch / parts;
  if (out.global_batch > 0 || out.micro_batch == 0) return;
  out.global_batch =
      capped_product({out.micro_batch, std::max<std::int64_t>(1, steps), out.replicas()});
  if (out.global_batch > kMostCounted)
    refuse_record(b.json(), "a batch of too many sequences", "up to 1e9");
  out.batch_taken = steps > 0 ? "micro-batches times steps of accumulation, of all replicas"
                              : "one micro-batch for each replica";
}

/// Tokens of a step are published in round figures, from which no whole number of micro-batches may
/// follow: a rate is the same with the nearest one.
void round_batch(PublishedRun& run) {
  constexpr std::int64_t kParts = 50;  // at most one of so many sequences more or less
  const std::int64_t each =
      capped_product({std::max<std::int64_t>(1, run.micro_batch), run.replicas()});
  const std::int64_t over = run.global_batch % each;
  if (over == 0) return;
  const std::int64_t change = 2 * over < each ? -over : each - over;
  const std::int64_t rounded = run.global_batch + change;
  if (rounded == 0 || std::abs(change) * kParts > run.global_batch) return;
  run.batch_taken = fmt::format("{}, the nearest to {} that makes whole micro-batches", rounded,
                                run.global_batch);
  run.global_batch = rounded;
}

PublishedRun run_of(const Json& json) {
  if (!json.is(Json::Kind::kObject))
    refuse_record(json, json.describe() + " in a list of records", "an object");
  RecordPart record(json);
  PublishedRun out;
  out.id = record.text("id");
  if (out.id.empty()) refuse_record(json, "a record without \"id\"", "a text");
  read_words(record, out);
  out.model = model_of(record.part("model"));
  read_cluster(record.part("cluster"), out);
  RecordPart* const parallel = record.find_part("parallel");
  const bool alone = out.gpus <= 1;
  out.has_layout = parallel != nullptr && (alone || !parallel->json().children().empty());
  if (parallel != nullptr) out.layout = layout_of(*parallel);
  if (out.gpus == 0 && out.layout.dp > 0) out.gpus = devices_of(out.layout);
  read_batch(record.part("batch"), out);
  RecordPart& measured = record.part("measured");
  if (!measured.number("iteration_time_s")) round_batch(out);
  if (RecordPart* const profile = record.find_part("stage_profile_ms"))
    out.profile = profile_of(*profile);
  out.measured = measured_of(measured, out);
  out.unread = unread_members(record);
  if (out.measured.says_oom && !out.measured.out_of_memory)
    out.unread.emplace_back("measured.oom (true beside the time or rate of a run, which counts)");
  return out;
}

/// By its id, or its place in the list; the others are read all the same.
PublishedRun refused_run(const Json& json, std::size_t place, const InputError::Text& why) {
  PublishedRun out;
  const Json* id = json.is(Json::Kind::kObject) ? json.find("id") : nullptr;
  const bool named = id != nullptr && id->is(Json::Kind::kText) && !id->text().empty();
  out.id = named ? id->text() : fmt::format("record {}", place + 1);
  out.refused = fmt::format("{} in line {}: {}; expected: {}", why.code, why.where.line,
                            why.problem, why.expected);
  return out;
}

}  // namespace

std::string name_of(MemoryStatistic s) {
  switch (s) {
    case MemoryStatistic::kAllocated: return "allocated";
    case MemoryStatistic::kReserved: return "reserved";
    case MemoryStatistic::kDevice: return "device";
  }
  return "";
}

bool has_pattern(const std::string& text, const char* pattern) {
  return std::regex_search(text, compiled(pattern));
}

std::int64_t count_in(std::string_view words, std::string_view digits) {
  const auto count = parse_number<std::int64_t>(digits);
  if (count && *count >= 0 && *count <= kMostCounted) return *count;
  throw NotRepresentable(fmt::format("\"{}\" says no number that can be read", words));
}

std::optional<std::string> word_behind(const PublishedRun& run, const std::string& argument) {
  return found_behind(run, argument, R"(\S+)");
}

std::optional<std::int64_t> number_behind(const PublishedRun& run, const std::string& argument) {
  const auto digits = found_behind(run, argument, R"(\d+)");
  return digits ? std::optional(count_in(argument + " " + *digits, *digits)) : std::nullopt;
}

std::vector<PublishedRun> read_published_runs(const JsonDocument& document) {
  const Json& root = document.root();
  if (!root.is(Json::Kind::kList)) {
    refuse_record(root, fmt::format("{} where records were expected", root.describe()),
                  "a list of records");
  }
  std::vector<PublishedRun> out;
  std::optional<InputError> first;
  for (const Json* r : root.children()) {
    try {
      out.push_back(run_of(*r));
    } catch (const InputError& error) {
      if (!first) first = error;
      out.push_back(refused_run(*r, out.size(), error.text()));
    }
  }
  const bool none =
      std::ranges::none_of(out, [](const PublishedRun& r) { return r.refused.empty(); });
  if (first && none) throw InputError(*first);
  return out;
}

}  // namespace plait
