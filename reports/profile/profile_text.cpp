#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/human.h"
#include "reports/profile/comparison.h"
#include "reports/profile/readable_kernel.h"
#include "reports/table.h"
#include "reports/text.h"

namespace plait {
namespace {

constexpr std::size_t kMostMessages = 12, kMostKernels = 10, kMostUnknown = 10;  // listed

std::string time_or_dash(double seconds) { return seconds > 1e-9 ? human_time(seconds) : "-"; }
std::string count_or_dash(double calls) {
  if (calls <= 0) return "-";
  return calls < 10 && calls != std::floor(calls) ? fmt::format("{:.2g}", calls)
                                                  : human_count(std::llround(calls));
}
std::string points_of(const ProfileShare& s, double step) {
  const double points = 100 * s.difference_s() / step;
  return std::abs(points) < 0.05 ? "0.0" : fmt::format("{:+.1f}", points);
}

std::string range_text(const std::vector<std::int64_t>& numbers) {
  if (numbers.size() == 1) return fmt::format("step {}", numbers.front());
  return fmt::format("{} steps from {} to {}", numbers.size(), numbers.front(), numbers.back());
}

std::string steps_text(const ProfileComparison& c) {
  if (c.as_many > 1) return fmt::format("the whole of it taken as {} steps", c.as_many);
  std::string out = range_text(c.steps);
  if (c.steps.size() > 1) {
    out += fmt::format(", {} to {}, the median is step {}", human_time(c.measured.least_s),
                       human_time(c.measured.most_s), c.measured.number);
  }
  if (!c.left_out.empty()) {
    out += fmt::format("; incomplete and left out: {}", fmt::join(c.left_out, ", "));
  }
  return out;
}

std::vector<Line> head_lines(const ProfileComparison& c, int width) {
  std::vector<Line> out = {{{c.run.scenario, Ink::kBold}, {"  " + c.layout + " on " + c.cluster}}};
  append(out, labelled_lines("trace",
                             fmt::format("{}: rank {} (stage {}){}; {}", c.trace, c.rank, c.stage,
                                         c.gpu.empty() ? "" : ", " + c.gpu, steps_text(c)),
                             width));
  out.push_back({{pad_right("step", 9)},
                 {fmt::format("measured {}, predicted {}  ", human_time(c.measured.step.step_s),
                              human_time(c.predicted.step_s))},
                 {human_change(step_difference(c)), Ink::kBold}});
  append(out, labelled_lines("verdict", profile_verdict(c), width));
  return out;
}

/// Where the step goes: the shares, in the order of the measured ones.
std::vector<Line> share_lines(const ProfileComparison& c, int width) {
  std::vector<ProfileShare> shares = c.shares;
  std::ranges::stable_sort(shares, std::ranges::greater{}, [](const ProfileShare& s) {
    return std::max(s.measured_s, s.predicted_s);
  });
  const StepProfile& m = c.measured.step;
  std::vector<TableRow> rows;
  const auto add = [&](const ProfileShare& s) {
    rows.push_back(
        {human_words(s.name),
         {{time_or_dash(s.measured_s)}, {time_or_dash(s.predicted_s)}, {points_of(s, m.step_s)}},
         ""});
  };
  for (const ProfileShare& s : shares) {
    add(s);
    if (s.name != "idle" || m.host_idle_s <= 0) continue;
    rows.push_back({"  waiting for the host", {{time_or_dash(m.host_idle_s)}, {""}, {""}}, ""});
  }
  add({"step", m.step_s, c.predicted.step_s});
  std::vector<Line> out = {{}};
  append(out, table_lines("share of the step", {{"measured", 11}, {"predicted", 11}, {"points", 9}},
                          std::move(rows), width));
  return out;
}

std::vector<Line> kind_lines(const ProfileComparison& c, int width) {
  std::vector<TableRow> rows;
  for_each_kind([&](KernelKind k) {
    const KindUse &m = c.measured.step.kinds[k], &p = c.predicted.kinds[k];
    if (m.time_s <= 0 && p.time_s <= 0) return;
    const bool both = m.time_s > 0 && p.time_s > 0;
    rows.push_back({human_words(name_of(k)),
                    {{count_or_dash(m.calls)},
                     {count_or_dash(p.calls)},
                     {time_or_dash(m.time_s)},
                     {time_or_dash(p.time_s)},
                     {both ? fmt::format("{:.2f}", p.time_s / m.time_s) : "-"}},
                    ""});
  });
  std::vector<Line> out = {{}};
  append(out, table_lines(
                  "time on the device",
                  {{"kernels", 9}, {"ops", 9}, {"measured", 11}, {"predicted", 11}, {"ratio", 7}},
                  std::move(rows), width));
  out.push_back({{fmt::format("  communication beside compute: measured {}, predicted {}",
                              time_or_dash(c.measured.step.overlapped_s),
                              time_or_dash(c.predicted.overlapped_s)),
                  Ink::kDim}});
  return out;
}

std::string busbw_or_dash(const MessageUse& m, double seconds) {
  const double rate = m.calls > 0 ? m.busbw(seconds) : 0;
  return rate > 0 ? fmt::format("{:.1f}", rate * 1e-9) : "-";
}

TableRow message_row(const MatchedMessage& m) {
  const MessageUse& e = m.either();
  const bool sized = e.bytes > 0;
  const std::string label = fmt::format("{} {}", human_words(name_of(e.kind)),
                                        sized ? human_bytes(e.bytes) : "of unknown size");
  return {label,
          {{e.ranks > 0 ? human_count(e.ranks) : "-"},
           {count_or_dash(m.measured.calls)},
           {count_or_dash(m.predicted.calls)},
           {time_or_dash(m.measured.least_s)},
           {time_or_dash(m.measured.median_s)},
           {time_or_dash(m.predicted.median_s)},
           {busbw_or_dash(m.measured, m.measured.least_s)},
           {busbw_or_dash(m.predicted, m.predicted.median_s)}},
          ""};
}

std::vector<Line> message_lines(const ProfileComparison& c, int width) {
  if (c.messages.empty()) return {};
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < std::min(kMostMessages, c.messages.size()); ++i) {
    rows.push_back(message_row(c.messages[i]));
  }
  std::vector<Line> out = {{}};
  append(out, table_lines("communication",
                          {{"ranks", 6},
                           {"calls", 7},
                           {"planned", 8},
                           {"least", 9},
                           {"median", 9},
                           {"predicted", 10},
                           {.title = "GB/s", .width = 7, .optional = true},
                           {.title = "pred.", .width = 7, .optional = true}},
                          std::move(rows), width));
  if (c.messages.size() > kMostMessages) {
    out.push_back({{fmt::format("  and {} more sizes", c.messages.size() - kMostMessages)}});
  }
  append(out, labelled_lines("",
                             "A kernel of NCCL begins when its rank is ready and ends when all are "
                             "done: the least of the calls is nearest to the time without waiting. "
                             "GB/s: busbw of the least, and as predicted.",
                             width));
  return out;
}

/// "aten::mul in MulBackward0: elementwise_kernel", no longer than its column.
std::string kernel_label(const KernelUse& k, int width) {
  const std::string label =
      k.launched_by.empty() ? readable_kernel(k.name) : k.launched_by + ": " + bare_kernel(k.name);
  const auto most = static_cast<std::size_t>(std::max(20, width));
  return label.size() <= most ? label : label.substr(0, most - 3) + "...";
}

std::vector<Line> kernel_lines(const ProfileComparison& c, bool unknown, int width) {
  constexpr int kNumbers = 47;  // columns
  std::vector<TableRow> rows;
  double rest = 0;
  for (const KernelUse& k : c.measured.step.kernels) {
    if (unknown != (k.kind == KernelKind::kUnknown)) continue;
    if (rows.size() == (unknown ? kMostUnknown : kMostKernels)) {
      rest += k.time_s;
      continue;
    }
    rows.push_back({kernel_label(k, width - kNumbers - 2),
                    {{human_words(name_of(k.kind))},
                     {count_or_dash(k.calls)},
                     {human_time(k.time_s)},
                     {human_percent(k.time_s / c.measured.step.step_s)}},
                    ""});
  }
  if (rows.empty()) return {};
  if (rest > 0) {
    rows.push_back(
        {"others",
         {{""}, {""}, {human_time(rest)}, {human_percent(rest / c.measured.step.step_s)}},
         ""});
  }
  std::vector<Line> out = {{}};
  append(out, table_lines(unknown ? "kernels that no pattern knows" : "longest kernels",
                          {{.title = "counts as", .width = 20, .left = true},
                           {"calls", 8},
                           {"time", 10},
                           {"of step", 9}},
                          std::move(rows), width));
  return out;
}

std::vector<Line> note_lines(const ProfileComparison& c, int width) {
  std::vector<Line> out;
  if (c.notes.empty()) return out;
  out.emplace_back();
  out.push_back({{"what does not match, and what to know", Ink::kBold}});
  for (const std::string& note : c.notes) append(out, labelled_lines("  *", note, width));
  return out;
}

}  // namespace

std::string profile_text(const ProfileComparison& c, const TerminalStyle& style) {
  std::vector<Line> lines = head_lines(c, style.width);
  append(lines, share_lines(c, style.width));
  append(lines, kind_lines(c, style.width));
  append(lines, message_lines(c, style.width));
  append(lines, kernel_lines(c, false, style.width));
  append(lines, kernel_lines(c, true, style.width));
  append(lines, note_lines(c, style.width));
  return render(lines, style);
}

}  // namespace plait
