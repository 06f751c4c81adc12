#include "scenarios/published/pipeline_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/spelling.h"
#include "plan/schedule.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/published/stages_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// LiBai deals layers so that the last stages have more, and from four stages on as if there were
/// up to pp - 1 more layers, which the last stage lacks: the head is there. 24 layers on four
/// stages are 6, 7, 7, 4 (libai/utils/distributed.py; pull requests 225 and 296, of June 2022).
std::vector<std::int64_t> layers_of_libai(std::int64_t layers, std::int64_t pp) {
  const bool more = pp >= 4 && layers >= 8 && layers % pp == 0;
  const std::int64_t dealt = layers + (more ? std::min(pp - 1, layers / pp) : 0);
  std::vector<std::int64_t> out;
  std::int64_t left = layers;
  for (std::int64_t stage = 0; stage < pp; ++stage) {
    const std::int64_t share = dealt / pp + (stage >= pp - dealt % pp ? 1 : 0);
    out.push_back(std::min(share, left));
    left -= out.back();
  }
  return out;
}

/// torchtitan deals what is left over to the pieces behind the first (torchtitan/parallelisms/
/// pipelining_utils.py, generate_split_points, until 2025).
std::vector<std::int64_t> layers_of_torchtitan(std::int64_t layers, std::int64_t pieces) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(pieces), layers / pieces);
  for (std::int64_t i = 1; i <= layers % pieces; ++i) ++out[static_cast<std::size_t>(i)];
  return out;
}
/// Chunks of a stage where the schedule has several and nobody says how many, ibidem.
constexpr std::int64_t kChunksOfTorchtitan = 2;

/// What records call schedules besides their names (plan/schedule.h), as plain_text has it.
struct ScheduleWords {
  const char* words;
  Schedule schedule;
};
constexpr ScheduleWords kScheduleWords[] = {
    {"zbv", Schedule::kZbV},           {"dualpipev", Schedule::kDualPipeV},
    {"all forward", Schedule::kGpipe}, {"afab", Schedule::kGpipe},
    {"fill drain", Schedule::kGpipe},  {"naive", Schedule::kSequential},
    {"zbh1", Schedule::kZbH1},         {"zbh2", Schedule::kZbH2},
    {"zb1p", Schedule::kZb1p},         {"zb2p", Schedule::kZb2p},
};

/// The schedule that a text names, by its longest name ("dualpipe-v"); null: none but 1F1B and
/// interleaved, which other members tell apart.
const ScheduleKind* named_schedule(const std::string& words) {
  for (const ScheduleWords& other : kScheduleWords) {
    if (asserted(words, other.words)) return &kind_of(other.schedule);
  }
  const ScheduleKind* found = nullptr;
  for (const ScheduleKind& kind : kSchedules) {
    const bool usual = kind.schedule == Schedule::k1f1b || kind.schedule == Schedule::kInterleaved;
    if (usual || !asserted(words, plain_text(std::string(kind.name)))) continue;
    if (found == nullptr || kind.name.size() > found->name.size()) found = &kind;
  }
  return found;
}

/// Schedules that no plan has; torchtitan's InterleavedZeroBubble is one.
constexpr const char* kOtherSchedules =
    R"(zero ?bubble|\bzb|chimera|hanayo|\bwaves?\b|looped|breadth|bidirectional|asynchron|2bw)"
    R"(|pipe ?dream(?! flush))";

/// Words that name no schedule, "standard", are taken as the usual one, which is listed.
void require_planned_schedule(const std::string& words, const std::string& said) {
  if (named_schedule(words) != nullptr) return;
  if (!asserted(words, kOtherSchedules) && said_in(words, "1f1b") != false) return;
  throw NotRepresentable(fmt::format("schedule \"{}\" is not planned yet", said));
}

/// Megatron-LM's scatter_gather_tensors_in_pipeline, without sequence parallelism: it went when
/// pipelines moved into Megatron-Core in 2023 (Megatron-LM commits 39b83c795 and 3c92fa93b, pull
/// requests 4032 and 4140), and the profile is of 2022 and 2023.
bool cuts_messages(const PublishedRun& run, const std::string& framework) {
  return framework == "megatron-lm-2023" && year_of(run) == 2022 && run.layout.tp > 1 &&
         !run.layout.sequence_parallel.value_or(false);
}

class PipelineWriter {
 public:
  PipelineWriter(const PublishedRun& run, const std::string& framework, const Recipe& recipe,
                 std::vector<std::string>& assumed)
      : run_(run),
        m_(run.model),
        p_(run.layout),
        recipe_(recipe),
        assumed_(assumed),
        torchtitan_(framework.starts_with("torchtitan")),
        cuts_messages_(cuts_messages(run, framework)),
        short_ends_(mentions(run.notes, "one transformer layer less")),
        listed_(stages_of(run)) {}

  JsonObject write() {
    JsonObject out = schedule();
    if (recipe_.hides_exchanges && chunks_ > 1) {
      out["exchange_overlap"] = "passes";
    } else if (recipe_.hides_exchanges) {  // which Megatron-Core refuses
      assumed_.emplace_back("all_to_all beside another microbatch's compute: before and behind it");
    }
    if (sends_whole_messages()) {
      out["scatter_gather"] = false;
    } else if (cuts_messages_) {
      out["scatter_gather"] = true;
      assumed_.emplace_back("messages between stages in parts: Megatron-LM's until 2022");
    }
    share_layers(out);
    return out;
  }

 private:
  /// Megatron-LM's figures of January 2021 are "before interleaving/scatter-gather".
  bool sends_whole_messages() const {
    return mentions(run_.source, "before interleaving/scatter-gather") ||
           mentions(run_.arguments, "--no-scatter-gather-tensors-in-pipeline");
  }
  /// And how many chunks a stage has.
  JsonObject schedule() {
    const std::string words = plain_text(p_.schedule);
    require_planned_schedule(words, p_.schedule);
    const bool ends = short_ends_ || (m_.layers % p_.pp != 0 && (m_.layers + 2) % p_.pp == 0);
    const std::int64_t most = std::max<std::int64_t>(1, (m_.layers + (ends ? 2 : 0)) / p_.pp);
    chunks_ = p_.most_chunks ? most : std::max<std::int64_t>(1, p_.chunks);
    const bool interleaved = asserted(words, "interleav") || words == "1f1b i";
    const bool named_torchtitan = mentions(lower_case(run_.framework + run_.source), "torchtitan");
    if (p_.chunks == 0 && !p_.most_chunks && interleaved && torchtitan_ && named_torchtitan) {
      assumed_.emplace_back("interleaved pipeline: torchtitan's two chunks");
      chunks_ = kChunksOfTorchtitan;
    } else if (lists_pieces()) {
      chunks_ = std::ssize(listed_->layers) / p_.pp;
    } else if (p_.chunks == 0 && !p_.most_chunks && interleaved) {
      assumed_.emplace_back("interleaved pipeline: 1 layer per chunk");
      chunks_ = most;
    }
    const ScheduleKind* named = named_schedule(words);
    if (named != nullptr && named->fewest_chunks > 1) {  // of so many chunks and no others
      chunks_ = named->fewest_chunks;
      both_ways_ = named->shape == PipelineShape::kBothWays;
      return {{"schedule", std::string(named->name)}, {"chunks", chunks_}};
    }
    if (chunks_ > 1) {
      if (named != nullptr)
        assumed_.push_back(
            fmt::format("schedule \"{}\" of {} chunks: interleaved 1F1B", p_.schedule, chunks_));
      JsonObject out = {{"schedule", "interleaved"}, {"chunks", chunks_}};
      group_microbatches(out);
      return out;
    }
    if (named != nullptr) {
      JsonObject out = {{"schedule", std::string(named->name)}};
      if (named->schedule == Schedule::kZb1p || named->schedule == Schedule::kZb2p)
        out["profile"] = profile();  // laid out for the passes of a stage
      return out;
    }
    if (!words.empty() && !asserted(words, "1f1b"))
      assumed_.push_back(fmt::format("schedule \"{}\": 1f1b", p_.schedule));
    return {{"schedule", "1f1b"}};
  }
  bool lists_pieces() const { return listed_ && !listed_->layers.empty(); }
  /// Megatron-Core refuses groups of as many microbatches as there are stages where their number is
  /// no multiple, so such a run had others.
  void group_microbatches(JsonObject& out) {
    const std::int64_t each = std::max<std::int64_t>(1, run_.micro_batch);
    const std::int64_t microbatches = run_.global_batch / (each * run_.replicas());
    const std::int64_t group = fitting_group(p_.pp, microbatches);
    if (group <= p_.pp) return;
    assumed_.emplace_back("microbatches in groups: the smallest that fit the stages");
    out["microbatch_group"] = group;
  }
  void share_layers(JsonObject& out) {
    // Where they go both ways a stage holds two, each of which another stage holds too.
    const std::int64_t pieces = both_ways_ ? p_.pp : p_.pp * chunks_, over = m_.layers % pieces;
    if (listed_) assumed_.push_back("layers of stages: " + listed_->told);
    if (lists_pieces() && std::ssize(listed_->layers) == pieces) {
      out["stage_layers"] = listed_->layers;
    } else if (mentions(run_.framework, "LiBai")) {
      out["stage_layers"] = layers_of_libai(m_.layers, pieces);
    } else if (torchtitan_ && over != 0) {
      out["stage_layers"] = layers_of_torchtitan(m_.layers, pieces);
    } else if (short_ends_ || (over != 0 && (m_.layers + 2) % pieces == 0)) {
      // Embedding and head count as a layer each (Megatron-LM's
      // account-for-embedding-in-pipeline-split, DeepSpeed's partition by parameters).
      out["first_stage_layers"] = (m_.layers + 2) / pieces - 1;
      out["last_stage_layers"] = (m_.layers + 2) / pieces - 1;
    } else if (over != 0) {
      assumed_.emplace_back("the first stages have one layer more than the last ones");
      JsonObject layers = JsonObject::array();
      for (std::int64_t i = 0; i < pieces; ++i) {
        layers.push_back(m_.layers / pieces + (i < over ? 1 : 0));
      }
      out["stage_layers"] = std::move(layers);
    }
  }
  /// What the run's schedule was laid out for. B leaves the inputs of the linear layers to W, 32 h
  /// of 34 h + 5 a s without fused attention (Qi et al. 2023, table 1).
  JsonObject profile() {
    const PassProfile p = run_.profile.value_or(PassProfile{});
    if (!run_.profile) assumed_.emplace_back("a schedule for passes of equal length");
    const auto linear = static_cast<double>(32 * m_.hidden);
    const auto all = static_cast<double>(34 * m_.hidden + 5 * m_.heads * m_.sequence_length);
    return {{"forward", p.forward},
            {"backward", p.backward},
            {"weights", p.weights},
            {"message", p.message},
            {"kept", linear / all}};
  }

  const PublishedRun& run_;
  const PublishedModel& m_;
  const PublishedLayout& p_;
  const Recipe& recipe_;
  std::vector<std::string>& assumed_;
  bool torchtitan_, cuts_messages_, short_ends_, both_ways_ = false;
  std::optional<ListedStages> listed_;
  std::int64_t chunks_ = 1;
};

}  // namespace

JsonObject pipeline_of(const PublishedRun& run, const std::string& framework, const Recipe& recipe,
                       std::vector<std::string>& assumed) {
  return PipelineWriter(run, framework, recipe, assumed).write();
}

}  // namespace plait
