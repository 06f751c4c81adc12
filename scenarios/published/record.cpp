#include "scenarios/published/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "core/capped_product.h"
#include "core/parse_number.h"
#include "core/spelling.h"
#include "scenarios/published/not_representable.h"

namespace plait {
namespace {

std::optional<std::string> found_behind(const PublishedRun& run, const std::string& argument,
                                        const char* what) {
  std::smatch found;
  if (!std::regex_search(run.arguments, found, std::regex(argument + " (" + what + ")")))
    return std::nullopt;
  return found[1].str();
}

[[noreturn]] void refuse(const Json& at, const std::string& problem, const std::string& expected) {
  throw InputError(
      {"V001", problem, at.where(), expected, "see docs/validate.md for the format of records"});
}

/// The member, or null where it is absent or null.
const Json* member(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found == nullptr || found->is(Json::Kind::kNull) ? nullptr : found;
}

const Json& part(const Json& record, std::string_view key) {
  const Json* found = member(record, key);
  if (found == nullptr || !found->is(Json::Kind::kObject)) {
    refuse(record, fmt::format("a record without \"{}\"", key), "an object");
  }
  return *found;
}

std::string text(const Json& object, std::string_view key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is(Json::Kind::kText) ? found->text() : "";
}

/// A text, or yes or no, but for words that stand for its absence.
std::string said(const Json& object, std::string_view key) {
  const Json* flagged = member(object, key);
  if (flagged != nullptr && flagged->is(Json::Kind::kBool))
    return flagged->boolean() ? "yes" : "no";
  const std::string found = text(object, key), small = lower_case(found);
  constexpr std::array<std::string_view, 5> kUnsaid = {"unknown", "n/a", "na", "-", "?"};
  const bool unsaid =
      small.starts_with("not ") || std::ranges::find(kUnsaid, small) != kUnsaid.end();
  return unsaid ? "" : found;
}

/// The same where "none" is no kind of it either.
std::string kind_of(const Json& object, std::string_view key) {
  const std::string found = said(object, key), small = lower_case(found);
  constexpr std::array<std::string_view, 4> kNone = {"none", "no", "off", "false"};
  return std::ranges::find(kNone, small) != kNone.end() ? "" : found;
}

bool is_number(const Json& json) {
  return json.is(Json::Kind::kInteger) || json.is(Json::Kind::kNumber);
}

/// A number, also as a text: "8".
std::optional<double> number(const Json& object, std::string_view key) {
  const Json* found = member(object, key);
  if (found == nullptr) return std::nullopt;
  if (is_number(*found)) return found->number();
  if (!found->is(Json::Kind::kText)) return std::nullopt;
  return parse_number<double>(found->text());
}

/// A measured amount; one that was rounded to 0 says nothing.
std::optional<double> amount(const Json& object, std::string_view key) {
  const std::optional<double> found = number(object, key);
  return found && *found > 0 ? found : std::nullopt;
}

/// A share, or as many percent: no share of a peak is above 1.
std::optional<double> share(const Json& object, std::string_view key) {
  const std::optional<double> found = amount(object, key);
  return found && *found > 1 ? std::optional(*found / 100) : found;
}

/// More than anything in a record is counted; a product of two is an integer.
constexpr std::int64_t kMostCounted = 1'000'000'000;

/// A whole number from 0 up; `absent` where there is none.
std::int64_t count(const Json& object, std::string_view key, std::int64_t absent) {
  const std::optional<double> value = number(object, key);
  if (!value) return absent;
  if (*value < 0 || *value > kMostCounted)
    refuse(*member(object, key), "a size out of range", "from 0 to 1e9");
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> flag(const Json& object, std::string_view key) {
  const Json* found = member(object, key);
  if (found == nullptr || !found->is(Json::Kind::kBool)) return std::nullopt;
  return found->boolean();
}

/// The words of a text, a list of texts or an object's members, for searching.
std::string words(const Json* json) {
  if (json == nullptr) return "";
  if (json->is(Json::Kind::kText)) return json->text();
  if (json->is(Json::Kind::kBool)) return json_bool(json->boolean());
  if (is_number(*json)) return json_number(json->number());
  std::string out;
  for (const Json* child : json->children()) {
    out += child->key().empty() ? "" : "--" + child->key() + " ";
    out += words(child) + " ";
  }
  return out;
}

/// Families whose MLPs are gated, in small letters.
constexpr std::string_view kGated[] = {"llama",    "mistral",  "mixtral",  "qwen",
                                       "deepseek", "kimi",     "gemma",    "yi-",
                                       "olmo",     "baichuan", "internlm", "dbrx"};

bool is_gated_by_name(const std::string& name) {
  const std::string small = lower_case(name);
  return std::ranges::any_of(kGated, [&](auto family) { return mentions(small, family); });
}

PublishedModel model_of(const Json& m) {
  PublishedModel out;
  out.name = text(m, "name");
  out.layers = count(m, "layers", 0);
  out.hidden = count(m, "hidden", 0);
  out.ffn_hidden = count(m, "ffn_hidden", 0);
  out.heads = count(m, "heads", 0);
  out.kv_heads = count(m, "kv_heads", 0);
  out.vocab = count(m, "vocab", 0);
  out.sequence_length = count(m, "seq_len", 0);
  out.experts = count(m, "experts", 0);
  out.experts_per_token = count(m, "topk", 0);
  out.expert_ffn_hidden = count(m, "moe_ffn_hidden", 0);
  if (const Json* shared = member(m, "shared_experts")) out.shared_experts = words(shared);
  out.first_dense_layers = count(m, "first_dense_layers", 0);
  out.attention = text(m, "attention");
  out.gated_mlp = flag(m, "gated_mlp").value_or(is_gated_by_name(out.name));
  out.tied_embeddings = flag(m, "tied_embeddings");
  if (const auto untied = flag(m, "untied")) out.tied_embeddings = !*untied;
  out.fields = fields_of_scenario(m);
  return out;
}

/// The size of an axis: tables write 0 where there is none.
std::int64_t axis(const Json& p, std::string_view key) {
  return std::max<std::int64_t>(1, count(p, key, 1));
}

/// The product of the axes that are published.
std::int64_t devices_of(const PublishedLayout& p) {
  return capped_product({p.tp, p.cp, p.pp, std::max<std::int64_t>(1, p.dp)});
}

PublishedLayout layout_of(const Json& p) {
  PublishedLayout out;
  out.tp = axis(p, "tp");
  out.cp = axis(p, "cp");
  out.pp = axis(p, "pp");
  out.dp = count(p, "dp", 0);
  out.ep = axis(p, "ep");
  out.etp = count(p, "etp", 0);
  out.sequence_parallel = flag(p, "sp");
  if (number(p, "zero_stage")) out.zero_stage = count(p, "zero_stage", 0);
  out.chunks = count(p, "vpp", 0);
  out.most_chunks = text(p, "vpp").starts_with("max");
  out.schedule = kind_of(p, "schedule");
  out.fsdp = kind_of(p, "fsdp");
  out.offload = kind_of(p, "offload");
  if (devices_of(out) > kMostCounted) refuse(p, "a layout of too many devices", "up to 1e9");
  return out;
}

// Published in GB: read as 2^30 where the figure comes from PyTorch or nvidia-smi, whose own
// printouts divide by 2^30, except in files that say _bytes.
struct MemoryKey {
  std::string_view key;
  double unit;
  MemoryStatistic statistic;
};
constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr MemoryKey kMemoryKeys[] = {
    {"mem_max_allocated_bytes", 1, MemoryStatistic::kAllocated},
    {"peak_memory_gib", kGib, MemoryStatistic::kReserved},
    {"peak_memory_mib", 1024.0 * 1024, MemoryStatistic::kDevice},
    {"peak_memory_gb_nvidia_smi", kGib, MemoryStatistic::kDevice},
    {"peak_memory_gb", kGib, MemoryStatistic::kReserved},
};

void read_memory(const Json& m, Measured& out) {
  for (const MemoryKey& k : kMemoryKeys) {
    if (const auto value = amount(m, k.key)) {
      out.memory_bytes = *value * k.unit;
      out.memory_statistic = k.statistic;
      return;
    }
  }
}

/// Seconds of a step from whichever rate was published: tokens before samples, which tables round
/// to few digits.
std::optional<double> step_seconds(const Json& m, const PublishedRun& run) {
  if (const auto s = amount(m, "iteration_time_s")) return s;
  const auto sequences = static_cast<double>(run.global_batch);
  const double tokens = sequences * static_cast<double>(run.model.sequence_length);
  const auto gpus = static_cast<double>(run.gpus);
  struct Rate {
    std::string_view key;
    double work;  // of a step, in the rate's unit; 0: not known
  };
  const Rate rates[] = {{"tokens_per_s", tokens},
                        {"tokens_per_s_per_gpu", gpus > 0 ? tokens / gpus : 0},
                        {"samples_per_s", sequences},
                        {"samples_per_s_per_gpu", gpus > 0 ? sequences / gpus : 0}};
  for (const Rate& rate : rates) {
    if (const auto r = amount(m, rate.key); r && rate.work > 0) return rate.work / *r;
  }
  return amount(m, "iteration_time_s_derived");
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

Measured measured_of(const Json& m, const PublishedRun& run) {
  Measured out;
  out.step_s = step_seconds(m, run);
  out.model_tflops_per_gpu = amount(m, "model_tflops_per_gpu");
  out.hardware_tflops_per_gpu = amount(m, "hw_tflops_per_gpu");
  auto& usual =
      counts_recomputed_work(run) ? out.hardware_tflops_per_gpu : out.model_tflops_per_gpu;
  if (!usual) usual = amount(m, "tflops_per_gpu");
  out.mfu = share(m, "mfu"), out.hfu = share(m, "hfu");
  out.half_squares = counts_half_squares(run);
  out.out_of_memory = flag(m, "oom").value_or(false);
  out.says_memory = out.out_of_memory || out.step_s || out.model_tflops_per_gpu ||
                    out.hardware_tflops_per_gpu || out.mfu || out.hfu;
  // The source's own word on its times, or faster than its GPUs can be.
  if (mentions(run.flags, "memory only") || mentions(run.flags, "would exceed peak FLOP/s")) {
    out.step_s = out.model_tflops_per_gpu = out.hardware_tflops_per_gpu = std::nullopt;
    out.mfu = out.hfu = std::nullopt;
  }
  read_memory(m, out);
  if (out.memory_bytes) out.says_memory = true;
  // Whatever the framework: FlagPerf, training/nvidia/nvidia_monitor.py, and its READMEs' "actual /
  // total" of the device's memory.
  if (mentions(run.source, "FlagPerf")) out.memory_statistic = MemoryStatistic::kDevice;
  out.memory_of_last_rank = mentions(run.notes, "(last rank)");
  return out;
}

std::optional<PassProfile> profile_of(const Json* p) {
  if (p == nullptr || !p->is(Json::Kind::kObject)) return std::nullopt;
  const auto f = amount(*p, "TF"), b = amount(*p, "TB"), w = amount(*p, "TW");
  if (!f || !b || !w) return std::nullopt;
  return PassProfile{*f, *b, *w, amount(*p, "Tcomm").value_or(0)};
}

/// A micro-batch by how many of them a replica accumulates; 0: not published.
std::int64_t part_of_a_step(const Json& batch, const PublishedRun& run) {
  const std::int64_t parts = run.replicas() * count(batch, "grad_accum", 0);
  return parts > 0 && run.global_batch % parts == 0 ? run.global_batch / parts : 0;
}

std::string software_of(const Json& r) {
  const std::string framework = text(r, "framework"), system = text(r, "system");
  return framework + (framework.empty() || system.empty() ? "" : "; ") + system;
}

PublishedRun run_of(const Json& r) {
  if (!r.is(Json::Kind::kObject)) refuse(r, r.describe() + " in a list of records", "an object");
  PublishedRun out;
  out.id = text(r, "id");
  if (out.id.empty()) refuse(r, "a record without \"id\"", "a text");
  out.source = text(r, "source");
  out.tier = text(r, "tier");
  out.task = text(r, "task_kind");
  out.notes = text(r, "notes");
  out.flags = words(member(r, "flags"));
  out.framework = software_of(r);
  out.kernel = text(r, "kernel");
  out.arguments = words(member(r, "extra_args"));
  out.adapters = words(member(r, "adapters"));
  out.model = model_of(part(r, "model"));
  const Json& cluster = part(r, "cluster");
  out.gpu = text(cluster, "gpu");
  out.interconnect = text(cluster, "interconnect");
  out.gpus = count(cluster, "num_gpus", 0);
  out.gpus_per_node = count(cluster, "gpus_per_node", 8);
  if (out.gpus_per_node == 0) out.gpus_per_node = 8;
  out.has_layout = member(r, "parallel") != nullptr;
  if (out.has_layout) out.layout = layout_of(part(r, "parallel"));
  const Json& batch = part(r, "batch");
  out.global_batch = count(batch, "global_batch", 0);
  out.micro_batch = count(batch, "micro_batch", 0);
  if (out.gpus == 0) out.gpus = out.layout.dp > 0 ? devices_of(out.layout) : 0;
  if (out.micro_batch == 0) out.micro_batch = part_of_a_step(batch, out);
  out.precision = said(r, "precision");
  out.recompute = said(r, "recompute");
  out.optimizer = text(r, "optimizer");
  out.profile = profile_of(member(r, "stage_profile_ms"));
  out.measured = measured_of(part(r, "measured"), out);
  out.unread = unread_members(r);
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
  return std::regex_search(text, std::regex(pattern));
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
    refuse(root, fmt::format("{} where records were expected", root.describe()),
           "a list of records");
  }
  std::vector<PublishedRun> out;
  for (const Json* r : root.children()) out.push_back(run_of(*r));
  return out;
}

}  // namespace plait
