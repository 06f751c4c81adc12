#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/spelling.h"
#include "plan/places.h"
#include "reports/human.h"
#include "reports/profile/comparison.h"
#include "topologies/reported_names.h"

namespace plait {
namespace {

using Notes = std::vector<std::string>;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// "h100" of "h100-sxm", "4090" of "rtx-4090": the first part of a catalogue's name with a digit.
std::string model_number(const std::string& device) {
  std::size_t begin = 0;
  while (begin < device.size()) {
    const std::size_t end = std::min(device.find('-', begin), device.size());
    std::string part = device.substr(begin, end - begin);
    if (part.find_first_of("0123456789") != std::string::npos) return part;
    begin = end + 1;
  }
  return device;
}

/// Whether `word` stands in `any_case`, whatever the case, not within a longer word.
bool has_word(const std::string& any_case, const std::string& word) {
  const std::string text = lower_case(any_case);
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

void add_machine(const ProfileInputs& in, const ProfileComparison& c, Notes& out) {
  const Device& device = in.cluster.device;
  const bool other = !c.gpu.empty() && !has_word(c.gpu, model_number(device.name));
  if (other && in.cluster.others.empty()) {
    out.push_back(
        fmt::format("the run was on {}, the scenario's cluster has {}: name the run's "
                    "device ({})",
                    c.gpu, device.name, device_reported_as(c.gpu).value_or("plait list devices")));
  }
  for (const KinetoTrace::Gpu& g : in.trace.gpus) {
    if (other || g.id != in.steps.device || g.sms == 0 || device.sms == 0) continue;
    if (g.sms == device.sms || !in.cluster.others.empty()) continue;
    out.push_back(fmt::format("the run's {} has {} multiprocessors, {} has {}: another variant",
                              g.name, g.sms, device.name, device.sms));
  }
  if (in.trace.world_size > 0 && in.trace.world_size != c.world_size) {
    out.push_back(
        fmt::format("the run had {} ranks, the scenario has {}: set cluster.nodes and the "
                    "axes of strategy as the job had them",
                    human_count(in.trace.world_size), human_count(c.world_size)));
  }
}

/// "1.5 times as many" and what that may come from.
void add_calls(KernelKind kind, const char* noun, const ProfileInputs& in,
               const ProfileComparison& c, Notes& out) {
  constexpr double kSame = 0.02;
  const double run = c.measured.step.kinds[kind].calls, plan = c.predicted.kinds[kind].calls;
  if (plan == 0 || run == 0 || std::abs(run / plan - 1) <= kSame) return;
  const auto microbatches = static_cast<double>(in.plan.microbatches);
  if (microbatches > 1 && std::abs(run * microbatches / plan - 1) <= kSame) {
    out.push_back(
        fmt::format("a step of the trace has {} {}, one of the plan's {} microbatches as "
                    "many: prof.step() stands behind each microbatch, or the batch is "
                    "smaller (workload.global_batch)",
                    human_count(std::llround(run)), noun, in.plan.microbatches));
    return;
  }
  out.push_back(fmt::format(
      "a step of the run has {} {}, of the plan {} ({:.3g} times as many): "
      "other layers, microbatches (gradient accumulation), recomputation, or "
      "projections in one product",
      human_count(std::llround(run)), noun, human_count(std::llround(plan)), run / plan));
}

void add_kernels(const ProfileInputs& in, const ProfileComparison& c, Notes& out) {
  const StepProfile& m = c.measured.step;
  const bool softmax = m.softmax_calls > 0;
  if (softmax && c.fused_attention) {
    out.push_back(
        fmt::format("{} softmax kernels a step: attention is not fused in the run, its "
                    "products count as matmul; the scenario's is fused "
                    "(workload.flash_attention)",
                    human_count(std::llround(m.softmax_calls))));
  }
  if (!softmax && !c.fused_attention && m.kinds[KernelKind::kAttention].calls > 0) {
    out.push_back("fused attention runs, the scenario's is not fused (workload.flash_attention)");
  }
  if (softmax || !c.fused_attention) return;
  add_calls(KernelKind::kMatMul, "products", in, c, out);
  add_calls(KernelKind::kAttention, "attention kernels", in, c, out);
}

std::string count_of(double calls) {
  return calls < 10 ? fmt::format("{:.3g}", calls) : human_count(std::llround(calls));
}

std::string words_for(const MessageUse& m) {
  return fmt::format("{} of {} over {} ranks, {} a step", name_of(m.kind), human_bytes(m.bytes),
                     m.ranks, count_of(m.calls));
}

/// A message of known size that one side has and the other has not. Sends and receives come in
/// pairs or in groups, as it happens.
bool is_alone(const MessageUse& m, const MessageUse& other) {
  return m.calls > 0 && other.calls == 0 && m.bytes > 0 && m.kind != KernelKind::kSendRecv;
}

/// What the plan has of that kind where the run has another size or group.
const MessageUse* instead_of(const MessageUse& of_run, const ProfileComparison& c) {
  const MatchedMessage* best = nullptr;
  for (const MatchedMessage& m : c.messages) {
    if (!is_alone(m.predicted, m.measured) || m.predicted.kind != of_run.kind) continue;
    if (best == nullptr ||
        (m.predicted.ranks == of_run.ranks && best->predicted.ranks != of_run.ranks)) {
      best = &m;
    }
  }
  return best == nullptr ? nullptr : &best->predicted;
}

std::string message_note(const MatchedMessage& m, const ProfileComparison& c) {
  if (is_alone(m.measured, m.predicted)) {
    const MessageUse* plan = instead_of(m.measured, c);
    const std::string instead =
        plan == nullptr
            ? "none such"
            : fmt::format("{}: {}", words_for(*plan),
                          plan->ranks == m.measured.ranks ? "other sizes" : "other groups");
    return fmt::format("the run has {}; the plan {}", words_for(m.measured), instead);
  }
  if (is_alone(m.predicted, m.measured)) {
    // Named already where the run has one instead.
    const bool named = std::ranges::any_of(c.messages, [&](const MatchedMessage& o) {
      return is_alone(o.measured, o.predicted) && o.measured.kind == m.predicted.kind;
    });
    return named ? "" : fmt::format("the plan has {}; the run none such", words_for(m.predicted));
  }
  const bool counted = m.measured.bytes > 0 && m.measured.kind != KernelKind::kSendRecv;
  if (!counted || std::abs(m.measured.calls - m.predicted.calls) < 0.05 * m.predicted.calls) {
    return "";
  }
  return fmt::format("the run has {}; the plan {}", words_for(m.measured),
                     count_of(m.predicted.calls));
}

void add_messages(const ProfileComparison& c, Notes& out) {
  constexpr std::size_t kMostNotes = 6;
  const std::size_t before = out.size();
  for (const MatchedMessage& m : c.messages) {
    std::string note = message_note(m, c);
    if (note.empty() || out.size() - before == kMostNotes) continue;
    out.push_back(std::move(note));
  }
}

void add_what_is_missing(const ProfileInputs& in, const ProfileComparison& c, Notes& out) {
  double without = 0, all = 0;
  for (const MessageUse& m : c.measured.step.messages) {
    all += m.calls, without += m.bytes == 0 ? m.calls : 0;
  }
  if (without > 0) {
    out.push_back(
        fmt::format("{} of {} communication kernels a step have no size in the trace "
                    "(c10d's metadata): they are matched by kind alone",
                    human_count(std::llround(without)), human_count(std::llround(all))));
  }
  if (in.steps.other_devices > 0) {
    out.push_back(
        fmt::format("the trace holds {} more {}; only device {}, which worked most, "
                    "is compared",
                    in.steps.other_devices, in.steps.other_devices == 1 ? "device" : "devices",
                    in.steps.device));
  }
  const double unknown = c.measured.step.kinds[KernelKind::kUnknown].time_s;
  if (unknown > 0) {
    out.push_back(fmt::format("no pattern knows kernels of {} a step: they are listed as unknown",
                              human_time(unknown)));
  }
}

void add_memory(const ProfileInputs& in, Notes& out) {
  const MemoryReport& m = in.report.memory;
  if (m.fits) return;
  const bool host = m.peak_memory_bytes <= m.capacity_bytes;
  out.push_back(fmt::format(
      "the job ran, and the scenario does not fit: {} of {} {}; has the job more recomputation, "
      "sharding or offload, or smaller micro-batches?",
      human_bytes(host ? m.host_bytes : m.peak_memory_bytes),
      human_bytes(host ? m.host_capacity_bytes : m.capacity_bytes),
      host ? "of a host's memory" : "of a GPU"));
}

void add_profiler(const ProfileInputs& in, const ProfileComparison& c, Notes& out) {
  const MeasuredProfile& m = c.measured;
  if (in.trace.rank < 0 && c.world_size > 1) {
    out.push_back(
        fmt::format("the trace does not say of which rank it is: taken as rank {} "
                    "(--rank)",
                    c.rank));
  }
  constexpr double kNotable = 0.02;  // of the step
  if (m.step.host_idle_s > kNotable * m.step.step_s) {
    const bool more = in.trace.with_stack || in.trace.profile_memory;
    out.push_back(fmt::format(
        "the device waits {} of the step for the host, which the profiler itself slows down{}: "
        "compare the step time with that of a run without it",
        human_time(m.step.host_idle_s),
        more ? ", with stacks or memory (with_stack, profile_memory) most of all" : ""));
  }
  if (m.most_s > 1.1 * m.least_s) {
    out.push_back(fmt::format("steps took {} to {}: profile more of them, later in the run",
                              human_time(m.least_s), human_time(m.most_s)));
  }
}

}  // namespace

std::vector<std::string> profile_notes(const ProfileInputs& in, const ProfileComparison& c) {
  Notes out;
  add_machine(in, c, out);
  add_memory(in, out);
  add_kernels(in, c, out);
  add_messages(c, out);
  add_what_is_missing(in, c, out);
  add_profiler(in, c, out);
  return out;
}

}  // namespace plait
