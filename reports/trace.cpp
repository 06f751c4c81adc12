#include "reports/trace.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/json.h"
#include "plan/walk.h"
#include "reports/flows.h"
#include "reports/memory_curve.h"
#include "reports/shown_tracks.h"

namespace plait {
namespace {

// Processes of measured ranks: their rank plus this.
constexpr std::int64_t kMeasured = 1'000'000'000;

// Threads of a process; 0 is the idle thread to trace viewers.
constexpr int kPhaseThread = 1;
constexpr int thread_of(Stream stream) { return 2 + static_cast<int>(stream); }

constexpr std::size_t kPart = 64 << 10;  // bytes handed to `write` at once

/// Microseconds with three decimals: the unit of the format, to the nanosecond.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

/// One event after the other, with commas between, passed on in large parts.
class EventWriter {
 public:
  explicit EventWriter(const std::function<void(std::string_view)>& write) : write_(write) {}

  void raw(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kPart) flush();
  }
  void event(std::string_view json) {
    raw(first_ ? "\n" : ",\n");
    raw(json);
    first_ = false;
  }
  void flush() {
    write_(buffer_);
    buffer_.clear();
  }

 private:
  const std::function<void(std::string_view)>& write_;
  std::string buffer_;
  bool first_ = true;
};

/// What the ops of a call on the compute stream are for.
std::string_view slice_name(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "fwd";
    case Phase::kBackward: return "bwd";
    case Phase::kWeightGrad: return "wgrad";
    case Phase::kRecompute: return "recompute";
    case Phase::kGradSync: return "grad_sync";
    case Phase::kParamGather: return "param_gather";
    case Phase::kOptimizer: return "optim";
  }
  return "";
}

std::string bytes_argument(const Body& body) {
  if (const auto* c = std::get_if<Collective>(&body)) {
    return fmt::format(R"(,"bytes":{},"axes":"{}")", c->bytes().value, name_of(c->axes));
  }
  if (const auto* s = std::get_if<Send>(&body))
    return fmt::format(R"(,"bytes":{})", s->bytes.value * s->fan.peers);
  if (const auto* r = std::get_if<Recv>(&body))
    return fmt::format(R"(,"bytes":{})", r->bytes.value * r->fan.peers);
  if (const auto* c = std::get_if<Copy>(&body))
    return fmt::format(R"(,"bytes":{})", c->bytes.value);
  return "";
}

struct Slice {
  std::string_view name;
  int thread = 0;
  SimTime start = 0, end = 0;
};

void write_slice(EventWriter& out, const Track& track, const Slice& s, const Call& call,
                 std::string_view more) {
  const SimTime from = s.start / kPicosecondsPerNanosecond, to = s.end / kPicosecondsPerNanosecond;
  out.event(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                        R"("args":{{"layer":{},"microbatch":{},"chunk":{}{}}}}})",
                        s.name, track.rank, s.thread, microseconds(from), microseconds(to - from),
                        call.layer, call.microbatch, call.chunk, more));
}

/// One slice per run of ops of the same call and phase on the compute stream, on a thread above
/// those of the streams.
void write_phases(EventWriter& out, const Plan& plan, const Track& track) {
  std::vector<std::string> block_argument;
  for (const Block& b : plan.blocks) block_argument.push_back(",\"block\":" + json_quote(b.name));
  const Call* open = nullptr;
  Slice slice;
  const auto close = [&] {
    if (open != nullptr) write_slice(out, track, slice, *open, block_argument[open->block]);
  };
  for_each_op(plan, static_cast<std::size_t>(track.stage),
              [&](std::int64_t flat, const Call& call, const Op& op) {
                if (op.stream != Stream::kCompute) return;
                const auto i = static_cast<std::size_t>(flat);
                const std::string_view name = slice_name(op.phase);
                if (open != &call || slice.name != name) {
                  close();
                  open = &call;
                  slice = {name, kPhaseThread, track.start[i], track.end[i]};
                }
                slice.end = track.end[i];
              });
  close();
}

void write_ops(EventWriter& out, const Plan& plan, const Track& track) {
  for_each_op(plan, static_cast<std::size_t>(track.stage),
              [&](std::int64_t flat, const Call& call, const Op& op) {
                const auto i = static_cast<std::size_t>(flat);
                const Slice slice{name_of(op), thread_of(op.stream), track.start[i], track.end[i]};
                write_slice(out, track, slice, call, bytes_argument(op.body));
              });
}

void write_thread_name(EventWriter& out, std::int64_t rank, int thread, std::string_view name) {
  out.event(
      fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                  rank, thread, name));
  out.event(fmt::format(
      R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
      rank, thread));
}

void write_names(EventWriter& out, const TraceInputs& in, const Track& track) {
  const Plan& plan = in.plan;
  const bool measured = track.rank >= kMeasured;
  const std::int64_t rank = measured ? track.rank - kMeasured : track.rank;
  std::string process =
      fmt::format("rank {}{} (stage {}", rank, measured ? ", measured" : "", track.stage);
  const std::string kind = kind_of_rank(plan, in.devices, rank);
  if (!kind.empty()) process += ", " + kind;
  if (track.multiplicity > 1) process += fmt::format(", stands for {} ranks", track.multiplicity);
  out.event(fmt::format(R"j({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{})"}}}})j",
                        track.rank, process));
  out.event(
      fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
                  track.rank, 2 * rank + (measured ? 0 : 1)));
  std::array<bool, kStreams> used = {};
  for (const Call& call : plan.programs[static_cast<std::size_t>(track.stage)].calls) {
    for (const Op& op : plan.blocks[call.block].ops)
      used[static_cast<std::size_t>(op.stream)] = true;
  }
  write_thread_name(out, track.rank, kPhaseThread, "phase");
  for (int stream = 0; stream < kStreams; ++stream) {
    if (!used[static_cast<std::size_t>(stream)]) continue;
    const auto which = static_cast<Stream>(stream);
    write_thread_name(out, track.rank, thread_of(which), name_of(which));
  }
}

void write_flow(EventWriter& out, const FlowArrow& flow, std::int64_t id) {
  const auto at = [](SimTime t) { return microseconds(t / kPicosecondsPerNanosecond); };
  out.event(
      fmt::format(R"({{"ph":"s","cat":"p2p","name":"p2p","id":{},"pid":{},"tid":{},"ts":{}}})", id,
                  flow.from_rank, thread_of(flow.from_stream), at(flow.sent)));
  out.event(fmt::format(
      R"({{"ph":"f","bp":"e","cat":"p2p","name":"p2p","id":{},"pid":{},"tid":{},"ts":{}}})", id,
      flow.to_rank, thread_of(flow.to_stream), at(flow.received)));
}

void write_memory(EventWriter& out, const TraceInputs& in, const Track& track) {
  const StageUse& use = in.memory[static_cast<std::size_t>(track.stage)];
  const std::optional<RankMemory> memory = memory_of_rank(in.plan, use, track, in.devices);
  if (!memory) return;
  for (const MemorySample& sample :
       memory_over_time(*memory, in.plan, track, in.timeline.step_time)) {
    std::string series;
    for (int c = 0; c < kTensorClasses; ++c) {
      series += fmt::format(R"("{}":{},)", name_of(static_cast<TensorClass>(c)),
                            sample.live[static_cast<std::size_t>(c)].value);
    }
    out.event(fmt::format(
        R"j({{"ph":"C","name":"device memory (bytes)","pid":{},"ts":{},"args":{{{}"overheads":{}}}}})j",
        track.rank, microseconds(sample.time / kPicosecondsPerNanosecond), series,
        sample.overheads.value));
  }
}

/// The measured tracks of the chosen ranks, under process numbers of their own.
std::vector<Track> measured_tracks(const TraceInputs& in, const std::vector<const Track*>& chosen) {
  std::vector<Track> out;
  if (in.measured == nullptr) return out;
  for (const Track* t : chosen) {
    for (const Track& m : in.measured->tracks) {
      if (m.rank == t->rank) out.push_back(m);
    }
  }
  for (Track& t : out) t.rank += kMeasured;
  return out;
}

}  // namespace

std::int64_t size_of_trace(const TraceInputs& in) {
  // A slice for each op, on average: llama-3.1-405b-16384xh100.json has 150 to 190 bytes.
  constexpr std::int64_t kSlice = 170;
  std::int64_t slices = 0;
  for (const Track* t : shown_tracks(in.plan, in.timeline, in.ranks, in.devices))
    slices += std::ssize(t->start);
  return slices * kSlice;
}

void write_trace(const TraceInputs& in, const std::function<void(std::string_view)>& write) {
  std::vector<const Track*> tracks = shown_tracks(in.plan, in.timeline, in.ranks, in.devices);
  const std::vector<const Track*> simulated = tracks;
  const std::vector<Track> measured = measured_tracks(in, tracks);
  for (const Track& t : measured) tracks.push_back(&t);
  EventWriter out(write);
  out.raw(fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"model":{},"version":{},)"
                      R"("scenario_sha256":{},"command":{}}},"traceEvents":[)",
                      json_quote(in.plan.name), json_quote(in.run.version),
                      json_quote(in.run.scenario_sha256), json_quote(in.run.command)));
  for (const Track* t : tracks) write_names(out, in, *t);
  for (const Track* t : tracks) {
    PLAIT_CHECK(static_cast<std::int64_t>(t->start.size()) ==
                    op_count(in.plan, static_cast<std::size_t>(t->stage)),
                "a track has one span per op");
    write_phases(out, in.plan, *t);
    write_ops(out, in.plan, *t);
  }
  std::int64_t id = 0;
  for (const FlowArrow& flow : flows_of(in.plan, simulated)) write_flow(out, flow, ++id);
  if (!in.memory.empty()) {
    for (const Track* t : simulated) write_memory(out, in, *t);
  }
  out.raw("\n]}\n");
  out.flush();
}

}  // namespace plait
