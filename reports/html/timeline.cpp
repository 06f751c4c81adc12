#include "reports/html/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "plan/walk.h"
#include "reports/memory_curve.h"
#include "reports/shown_tracks.h"

namespace plait {
namespace {

constexpr std::size_t kMostSamples = 3000;  // of memory, a few for each pixel of a wide screen

SimTime ns(SimTime t) { return t / kPicosecondsPerNanosecond; }

/// The tracks to show, thinned evenly (the first, the last and the fullest stay) to about as many
/// spans as are wanted.
std::vector<const Track*> few_tracks(const TimelineInputs& in) {
  std::vector<const Track*> all = shown_tracks(in.plan, in.timeline, in.ranks, in.devices);
  std::size_t spans = 0;
  for (const Track* t : all) spans += t->start.size();
  const std::size_t wanted = std::max<std::size_t>(
      1, all.size() * static_cast<std::size_t>(in.most_spans) / std::max<std::size_t>(1, spans));
  if (wanted >= all.size()) return all;
  std::vector<const Track*> out = {all.front()};
  for (std::size_t i = 1; i < wanted; ++i) {
    out.push_back(all[i * (all.size() - 1) / (wanted - 1)]);
  }
  const auto fullest = std::ranges::find(all, in.fullest_stage, &Track::stage);
  if (fullest != all.end() && std::ranges::count(out, *fullest) == 0) out.push_back(*fullest);
  std::ranges::sort(out, {}, [](const Track* t) { return t->rank; });
  return out;
}

struct BytesOf {
  std::int64_t operator()(const Collective& c) const { return c.bytes().value; }
  std::int64_t operator()(const Send& s) const { return s.bytes.value * s.fan.peers; }
  std::int64_t operator()(const Recv& r) const { return r.bytes.value * r.fan.peers; }
  std::int64_t operator()(const Copy& c) const { return c.bytes.value; }
  std::int64_t operator()(const Compute&) const { return 0; }
};

std::string axes_of(const Body& body) {
  if (const auto* c = std::get_if<Collective>(&body)) return name_of(c->axes);
  if (const auto* s = std::get_if<Send>(&body)) return std::string(name_of(s->axis));
  if (const auto* r = std::get_if<Recv>(&body)) return std::string(name_of(r->axis));
  return "";
}

/// Each op as [name, stream, phase, bytes, axes].
std::string block_json(const Block& block) {
  std::vector<std::string> ops;
  for (const Op& op : block.ops) {
    ops.push_back(fmt::format(R"(["{}","{}","{}",{},"{}"])", name_of(op), name_of(op.stream),
                              name_of(op.phase), std::visit(BytesOf{}, op.body), axes_of(op.body)));
  }
  return json_object({{"name", json_quote(block.name)}, {"ops", json_list(ops)}}, false);
}

/// Block, layer, microbatch and chunk of each call, one after the other.
std::string calls_json(const Program& program) {
  std::vector<std::int64_t> numbers;
  for (const Call& c : program.calls) {
    numbers.insert(numbers.end(), {c.block, c.layer, c.microbatch, c.chunk});
  }
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

/// Which rank it is of which stage, and how many are like it.
std::vector<JsonMember> names_of(const TimelineInputs& in, const Track& track) {
  std::vector<JsonMember> out = {{"stage", fmt::format("{}", track.stage)},
                                 {"rank", fmt::format("{}", track.rank)},
                                 {"stands_for", fmt::format("{}", track.multiplicity)}};
  const std::string kind = kind_of_rank(in.plan, in.devices, track.rank);
  if (!kind.empty()) out.push_back({"kind", json_quote(kind)});
  return out;
}

std::string track_json(const TimelineInputs& in, const Track& track) {
  std::vector<SimTime> gaps, durations;
  std::array<SimTime, kStreams> last = {};
  for_each_op(in.plan, static_cast<std::size_t>(track.stage),
              [&](std::int64_t flat, const Call&, const Op& op) {
                const auto i = static_cast<std::size_t>(flat);
                SimTime& before = last[static_cast<std::size_t>(op.stream)];
                gaps.push_back(ns(track.start[i]) - before);
                durations.push_back(ns(track.end[i]) - ns(track.start[i]));
                before = ns(track.end[i]);
              });
  std::vector<JsonMember> out = names_of(in, track);
  out.push_back({"gaps_ns", fmt::format("[{}]", fmt::join(gaps, ","))});
  out.push_back({"durations_ns", fmt::format("[{}]", fmt::join(durations, ","))});
  return json_object(out, false);
}

std::string memory_of_track(const TimelineInputs& in, const Track& track,
                            const RankMemory& memory) {
  const std::vector<MemorySample> samples =
      thinned(memory_over_time(memory, in.plan, track, in.timeline.step_time), kMostSamples);
  std::vector<SimTime> times;
  for (const MemorySample& s : samples) times.push_back(ns(s.time));
  std::vector<JsonMember> classes;
  for (std::size_t c = 0; c < kTensorClasses; ++c) {
    std::vector<std::int64_t> bytes;
    for (const MemorySample& s : samples) bytes.push_back(s.live[c].value);
    const bool unused = std::ranges::all_of(bytes, [](std::int64_t b) { return b == 0; });
    if (unused) continue;
    classes.push_back({std::string(name_of(static_cast<TensorClass>(c))),
                       fmt::format("[{}]", fmt::join(bytes, ","))});
  }
  std::vector<std::int64_t> overheads;
  for (const MemorySample& s : samples) overheads.push_back(s.overheads.value);
  std::vector<JsonMember> out = names_of(in, track);
  out.push_back({"overhead_bytes", fmt::format("[{}]", fmt::join(overheads, ","))});
  out.push_back({"times_ns", fmt::format("[{}]", fmt::join(times, ","))});
  out.push_back({"bytes", json_object(classes, false)});
  return json_object(out, false);
}

}  // namespace

std::string timeline_json(const TimelineInputs& in) {
  std::vector<std::string> blocks, tracks;
  std::vector<JsonMember> calls;
  for (const Block& b : in.plan.blocks) blocks.push_back(block_json(b));
  std::int64_t last_stage = -1;
  for (const Track* t : few_tracks(in)) {
    tracks.push_back(track_json(in, *t));
    if (t->stage == last_stage) continue;
    last_stage = t->stage;
    calls.push_back({fmt::format("{}", t->stage),
                     calls_json(in.plan.programs[static_cast<std::size_t>(t->stage)])});
  }
  return json_object({{"label", json_quote(in.label)},
                      {"step_ns", fmt::format("{}", ns(in.timeline.step_time))},
                      {"stages", fmt::format("{}", in.plan.programs.size())},
                      {"blocks", json_list(blocks)},
                      {"calls", json_object(calls, false)},
                      {"tracks", json_list(tracks)}},
                     false);
}

std::string memory_json(const TimelineInputs& in, const std::vector<StageUse>& memory) {
  std::vector<std::string> out;
  for (const Track* t : few_tracks(in)) {
    const StageUse& use = memory[static_cast<std::size_t>(t->stage)];
    if (const auto of_rank = memory_of_rank(in.plan, use, *t, in.devices)) {
      out.push_back(memory_of_track(in, *t, *of_rank));
    }
  }
  return json_list(out);
}

}  // namespace plait
