// Stages as Megatron-LM has them. Layers are shared out evenly but for the first and the last
// chunk, each of which may count the embedding or the loss as a layer or, where a stage is one
// chunk, have a number of its own; else --pipeline-model-parallel-layout lists all chunks, and so
// says how many a stage has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/strategies/pieces.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kChunks = "--num-virtual-stages-per-pipeline-rank",
                     *kChunkLayers = "--num-layers-per-virtual-pipeline-stage",
                     *kGroup = "--microbatch-group-size-per-virtual-pipeline-stage",
                     *kLayout = "--pipeline-model-parallel-layout",
                     *kCountEmbedding = "--account-for-embedding-in-pipeline-split",
                     *kCountLoss = "--account-for-loss-in-pipeline-split",
                     *kFirstLayers = "--decoder-first-pipeline-num-layers",
                     *kLastLayers = "--decoder-last-pipeline-num-layers",
                     *kMethod = "--pp-partition-method";  // of Megatron-DeepSpeed

/// Of both ends, -1 where they have an even share.
struct Ends {
  std::int64_t first = -1, last = -1;
  std::int64_t given() const { return (first >= 0 ? 1 : 0) + (last >= 0 ? 1 : 0); }
};

Ends ends_of(const PipelineOptions& p) { return {p.first_stage_layers, p.last_stage_layers}; }

/// Chunks are even where embedding and loss, at the ends that are given, count as a layer each.
bool are_counted(const Scenario& s) {
  const Ends ends = ends_of(s.strategy.pipeline);
  const std::int64_t chunks = s.strategy.mesh[Axis::kPp] * s.strategy.pipeline.chunks;
  const std::int64_t layers = s.model.layers + ends.given(), share = layers / chunks;
  const auto as_share = [&](std::int64_t end) { return end < 0 || end == share - 1; };
  return layers % chunks == 0 && as_share(ends.first) && as_share(ends.last);
}

/// Layers of all chunks, where no other argument says them; empty: one does, or they are not for
/// Megatron-LM's schedules.
std::vector<std::int64_t> layers_to_list(const Scenario& s) {
  const PipelineOptions& p = s.strategy.pipeline;
  const std::int64_t pp = s.strategy.mesh[Axis::kPp], chunks = pp * p.chunks;
  const bool listed = !p.stage_layers.empty() || p.ends_are_layers;
  const bool by_ends = are_counted(s) || p.chunks == 1 || ends_of(p).given() == 0;
  const bool known = p.schedule == Schedule::k1f1b || p.schedule == Schedule::kInterleaved;
  if (pp == 1 || !known || (!listed && by_ends)) return {};
  if (!listed && !can_share_evenly(s.model.layers, chunks, p)) return {};
  const std::vector<std::int32_t> start = first_layers(s.model.layers, chunks, p);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i + 1 < start.size(); ++i) out.push_back(start[i + 1] - start[i]);
  return out;
}

void write_ends(ExportDraft& d) {
  const PipelineOptions& p = d.scenario.strategy.pipeline;
  const Ends ends = ends_of(p);
  if (!p.stage_layers.empty() || p.ends_are_layers) return;
  const bool staged = d.scenario.strategy.mesh[Axis::kPp] > 1;
  if (ends.given() > 0 && staged && are_counted(d.scenario)) {
    if (ends.first >= 0) d.set(kCountEmbedding);
    if (ends.last >= 0) d.set(kCountLoss);
  } else if (ends.given() > 0 && staged && p.chunks == 1) {
    if (ends.first >= 0) d.set(kFirstLayers, ends.first);
    if (ends.last >= 0) d.set(kLastLayers, ends.last);
  } else if (ends.given() > 0) {
    return;
  }
  d.say({"strategy.pipeline.first_stage_layers", "strategy.pipeline.last_stage_layers",
         "strategy.pipeline.stage_layers", "strategy.pipeline.ends_are_layers"});
}

class Stages {
 public:
  Stages(Arguments& args, Imported& out, std::int64_t pp, std::int64_t layers)
      : args_(args), out_(out), pp_(pp), layers_(layers) {}

  void read() {
    for (const char* other :
         {kChunks, kChunkLayers, kCountEmbedding, kCountLoss, kFirstLayers, kLastLayers}) {
      args_.exclusive(other, kLayout);
    }
    if (const auto text = args_.text(kLayout)) {
      read_list(*text);
    } else {
      read_ends();
    }
    give(kGroup, "microbatch_group", std::to_string(args_.integer(kGroup).value_or(0)));
  }

 private:
  void give(const char* argument, const char* field, std::string json) {
    out_.give(std::string("strategy.pipeline.") + field, std::move(json), args_.line(argument));
  }
  void give_chunks(const char* argument, std::int64_t chunks) {
    give("", "schedule", chunks > 1 ? R"("interleaved")" : R"("1f1b")");
    give(argument, "chunks", std::to_string(chunks));
  }

  void read_list(const std::string& text) {
    const auto layout = read_layout(text);
    if (!layout) {
      args_.malformed(kLayout,
                      "E, t for each layer, m and L, with | between stages: Et*3|(tt|)*3L");
    }
    const std::int64_t pieces = std::ssize(layout->layers);
    if (pieces % pp_ != 0) {
      args_.contradiction(kLayout, fmt::format("{} stages of its {} pieces", pp_, pieces));
    }
    std::vector<std::int64_t> layers = layout->layers;
    if (!layout->mtp_is_last) {
      const bool moved = fill_empty(layers);
      out_.warnings.push_back(
          {"W008",
           fmt::format("the m of {} is read as in the stage of the loss{}", kLayout,
                       moved ? ", and in its place is the last layer of the piece before" : "")});
    }
    give_chunks(kLayout, pieces / pp_);
    give(kLayout, "stage_layers", fmt::format("[{}]", fmt::join(layers, ", ")));
    for (const char* end : {"first_stage_layers", "last_stage_layers"}) give(kLayout, end, "-1");
  }

  /// Layers, and one more for the embedding and for the loss where they are counted.
  void read_ends() {
    const bool both = counts_embeddings();
    const bool embedding = args_.flag(kCountEmbedding) || both,
               loss = args_.flag(kCountLoss) || both;
    const std::int64_t counted = layers_ + (embedding ? 1 : 0) + (loss ? 1 : 0);
    const std::int64_t chunks = chunks_of(counted);
    give_chunks(kChunks, chunks);
    give(kLayout, "stage_layers", "[]");
    const auto end = [&](const char* count, bool is_counted, const char* argument,
                         const char* field) {
      std::int64_t layers = is_counted && layers_ > 0 ? counted / (pp_ * chunks) - 1 : -1;
      if (const auto given = args_.integer(argument, 0)) {
        if (is_counted) args_.contradiction(argument, count);
        layers = *given;
      }
      give(both ? kMethod : is_counted ? count : argument, field, std::to_string(layers));
    };
    end(kCountEmbedding, embedding, kFirstLayers, "first_stage_layers");
    end(kCountLoss, loss, kLastLayers, "last_stage_layers");
  }

  /// DeepSpeed shares out what has one of these words in its class's name: layers, or with
  /// type:transformer|embedding the embedding and the tied output matrix too, a layer each
  /// (deepspeed/runtime/pipe/module.py, _partition_layers).
  bool counts_embeddings() {
    const auto method = args_.text(kMethod);
    if (!method || method == "type:transformer") return false;
    const bool both = method == "type:transformer|embedding";
    const bool even = layers_ > 0 && (layers_ + 2) % pp_ == 0;
    if (both && even) return true;
    warn_unread({fmt::format("{} {}: layers are shared out evenly", kMethod, *method)},
                out_.warnings);
    return false;
  }

  std::int64_t chunks_of(std::int64_t layers) {
    args_.exclusive(kChunks, kChunkLayers);
    if (const auto chunks = args_.integer(kChunks)) return *chunks;
    const auto each = args_.integer(kChunkLayers);
    if (!each) return 1;
    if (layers == 0 || layers % (pp_ * *each) != 0) {
      args_.contradiction(kChunkLayers, fmt::format("{} layers on {} stages", layers, pp_));
    }
    return layers / pp_ / *each;
  }

  Arguments& args_;
  Imported& out_;
  std::int64_t pp_, layers_;
};

}  // namespace

void write_pipeline(ExportDraft& d) {
  const PipelineOptions& p = d.scenario.strategy.pipeline;
  const bool interleaved = p.schedule == Schedule::kInterleaved;
  const std::vector<std::int64_t> listed = layers_to_list(d.scenario);
  if (!listed.empty()) {
    d.set(kLayout, fmt::format("'{}'", layout_of(listed, d.scenario.model.mtp_layers)));
    d.say({"strategy.pipeline.first_stage_layers", "strategy.pipeline.last_stage_layers",
           "strategy.pipeline.stage_layers", "strategy.pipeline.ends_are_layers"});
  } else if (interleaved && p.chunks > 1) {
    d.set(kChunks, p.chunks);
  }
  if (p.schedule == Schedule::k1f1b || (interleaved && p.chunks > 1)) {
    d.say({"strategy.pipeline.schedule", "strategy.pipeline.chunks"});
  }
  if (p.microbatch_group > 0 && interleaved) d.set(kGroup, p.microbatch_group);
  if (p.microbatch_group == 0 || interleaved) d.say({"strategy.pipeline.microbatch_group"});
  if (listed.empty()) write_ends(d);
}

void read_pipeline(Arguments& args, Imported& out, std::int64_t pp, std::int64_t layers) {
  Stages(args, out, pp, layers).read();
}

}  // namespace plait::megatron
