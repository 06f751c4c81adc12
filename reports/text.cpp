#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "reports/bound.h"
#include "reports/human.h"
#include "reports/training.h"

namespace plait {
namespace {

constexpr int kLabel = 9;          // columns of the labels on the left
constexpr std::size_t kRows = 9;   // of the breakdown
constexpr std::size_t kHelps = 4;  // sensitivities
constexpr std::size_t kCollectives = 6;
constexpr std::size_t kContentions = 4;  // listed

std::vector<Line> header_lines(const Report& r, int width) {
  std::vector<Line> out;
  const std::string name = r.run.scenario.empty() ? r.model : r.run.scenario;
  out.push_back({{name, Ink::kBold}, {"  " + r.model + " on " + r.cluster, Ink::kPlain}});
  append(out, labelled_lines("layout", r.layout, width));
  if (!r.fabric.empty()) append(out, labelled_lines("fabric", r.fabric, width));
  if (!r.placement.empty()) append(out, labelled_lines("placed", r.placement, width));
  return out;
}

std::vector<Line> speed_lines(const Report& r, int width) {
  std::vector<Line> out;
  out.push_back({{pad_right("step", kLabel)},
                 {human_time(r.step_time_s), Ink::kBold},
                 {fmt::format("   {} tokens/s, {} per GPU", human_rate(r.tokens_per_s),
                              human_rate(r.tokens_per_s_per_gpu))}});
  append(out, labelled_lines("TFLOP/s",
                             fmt::format("{} per GPU for the model, {} as executed",
                                         human_number(r.model_tflops_per_gpu),
                                         human_number(r.hardware_tflops_per_gpu)),
                             width));
  out.push_back({{pad_right("MFU", kLabel)},
                 {human_percent(r.mfu), Ink::kBold},
                 {"   HFU "},
                 {human_percent(r.hfu), Ink::kBold},
                 {fmt::format("   of the dense {} peak, {} TFLOP/s", r.peak_flops_dtype,
                              human_number(r.peak_flops_per_gpu_tflops))}});
  if (r.counts_whole_squares()) {
    append(out, labelled_lines(
                    "",
                    fmt::format("{} for the model where half of each causal square "
                                "counts, as attention kernels compute it: MFU and HFU count it "
                                "whole",
                                human_percent(r.mfu_of_half_squares)),
                    width));
  } else if (r.mfu > 1) {
    append(out,
           labelled_lines("", "above 100 %: counts the whole square of causal attention", width));
  }
  if (r.price_per_step > 0) {
    append(out, labelled_lines(
                    "price",
                    fmt::format("{} per step, {} per 1e9 tokens", human_money(r.price_per_step),
                                human_money(r.price_per_billion_tokens)),
                    width));
  }
  if (!r.bound_by.empty()) append(out, labelled_lines("bound by", bound_text(r), width));
  return out;
}

std::string share_name(const Report& r, const ReportShare& s) {
  if (s.name.empty()) return group_words(r, s.group);
  const std::string join = s.group == "exposed_communication" ? " over " : ": ";
  const std::string group = s.group == "exposed_communication" ? "communication" : s.group;
  return human_words(group) + join + human_words(s.name);
}

std::vector<Line> breakdown_lines(const Report& r, int width) {
  std::vector<ReportShare> shares = r.breakdown;
  std::erase_if(shares, [](const ReportShare& s) { return s.time_s <= 0; });
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
  std::vector<Line> out = {{}, {{"where the time goes, mean over all ranks", Ink::kBold}}};
  ReportShare rest{"everything else", "", 0, 0};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ReportShare& s = shares[i];
    if (i < kRows || shares.size() == kRows + 1) {
      out.push_back(bar_line(share_name(r, s), human_time(s.time_s), s.fraction, width));
    } else {
      rest.time_s += s.time_s, rest.fraction += s.fraction;
    }
  }
  if (rest.time_s > 0) {
    out.push_back(bar_line(rest.group, human_time(rest.time_s), rest.fraction, width));
  }
  return out;
}

std::vector<Line> help_lines(const Report& r) {
  std::vector<Line> out = {{}, {{"what would help most", Ink::kBold}}};
  for (std::size_t i = 0; i < r.sensitivity.size() && i < kHelps; ++i) {
    const SensitivityLine& s = r.sensitivity[i];
    if (s.change_for_ten_percent > -0.0005) break;
    out.push_back({{"  " + pad_right(what_if_text(s.resource) + ":", 37)},
                   {pad_left(human_change(s.change_for_ten_percent), 8) + " step time"}});
  }
  if (out.size() == 2) out.push_back({{"  no single hardware number matters"}});
  return out;
}

std::vector<Line> contention_section(const Report& r) {
  std::vector<Line> out;
  if (r.contention.empty()) return out;
  out = {{}, {{"contention: what was held up, where, by what", Ink::kBold}}};
  for (std::size_t i = 0; i < r.contention.size() && i < kContentions; ++i) {
    const ContentionLine& c = r.contention[i];
    out.push_back(
        {{"  " + pad_right(c.traffic, 38)},
         {fmt::format("delayed by {} in {}", human_time(c.lost_s), human_time(c.time_s))}});
    out.push_back({{fmt::format("    with {}", fmt::join(c.with, ", "))}});
    out.push_back({{fmt::format("    on {} ({} such links, {:.3g} GB/s)", c.link,
                                human_count(c.links), c.bandwidth_bytes_per_s / 1e9)}});
  }
  return out;
}

/// Those that look the same once their numbers are rounded, together.
std::vector<CollectiveLine> rounded_alike(const std::vector<CollectiveLine>& all) {
  std::vector<CollectiveLine> out;
  for (const CollectiveLine& c : all) {
    const auto same = std::ranges::find_if(out, [&](const CollectiveLine& o) {
      const auto words = [](const CollectiveLine& l) {
        return std::tie(l.kind, l.axes, l.ranks, l.algorithm, l.protocol);
      };
      return words(o) == words(c) && human_bytes(o.bytes) == human_bytes(c.bytes) &&
             human_time(o.time_s) == human_time(c.time_s);
    });
    if (same == out.end()) {
      out.push_back(c);
    } else {
      same->calls += c.calls;
    }
  }
  return out;
}

std::vector<Line> collective_section(const Report& r) {
  std::vector<Line> out;
  const std::vector<CollectiveLine> all = rounded_alike(r.collectives);
  if (all.empty()) return out;
  out = {{}, {{"collectives: size, ranks, algorithm, calls x time", Ink::kBold}}};
  for (std::size_t i = 0; i < all.size() && i < kCollectives; ++i) {
    const CollectiveLine& c = all[i];
    const std::string calls = human_count(c.calls) + " x " + human_time(c.time_s);
    out.push_back({{"  " + pad_right(human_words(c.kind) + " over " + c.axes, 27)},
                   {pad_left(human_bytes(c.bytes), 10) + pad_left(human_count(c.ranks), 7)},
                   {"  " + pad_right(c.algorithm + " " + c.protocol, 16) + pad_left(calls, 16)}});
  }
  if (all.size() > kCollectives) {
    out.push_back({{fmt::format("  and {} more", all.size() - kCollectives)}});
  }
  return out;
}

std::vector<Line> closing_lines(const Report& r, int width) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < r.provenance.share.size(); ++i) {
    if (r.provenance.share[i] <= 0) continue;
    parts.push_back(fmt::format("{} {}", human_percent(r.provenance.share[i], 0),
                                name_of(static_cast<Provenance>(i))));
  }
  std::string numbers = fmt::format("{}", fmt::join(parts, ", "));
  if (r.provenance.band > 0) {
    numbers += fmt::format(
        "; step {} to {}, ±{}", human_time(r.step_time_s / (1 + r.provenance.band)),
        human_time(r.step_time_s * (1 + r.provenance.band)), human_percent(r.provenance.band, 0));
  }
  std::vector<Line> out = {{}};
  if (!numbers.empty()) append(out, labelled_lines("numbers", numbers, width));
  if (!r.calibration.empty())
    append(out, labelled_lines("", "calibration " + r.calibration, width));
  out.push_back({{fmt::format("plait {} {}  scenario {}", r.run.version, r.run.revision,
                              r.run.scenario_sha256.substr(0, 12)),
                  Ink::kDim}});
  return out;
}

std::string item_label(const std::string& name) {
  if (name == "optimizer") return "optimizer state";
  const bool plural =
      name == "weight" || name == "gradient" || name == "activation" || name == "buffer";
  return human_words(name) + (plural ? "s" : "");
}

/// Up to three of the largest activations at the peak.
std::vector<Line> largest_lines(const MemoryReport& m, int width) {
  std::vector<Line> out;
  for (const PeakTensor& t : m.largest) {
    if (t.kind != "activation" || out.size() == 3) continue;
    const double fraction =
        m.capacity_bytes > 0 ? static_cast<double>(t.bytes) / static_cast<double>(m.capacity_bytes)
                             : 0;
    Line line = bar_line(fmt::format("  {} x {}", human_count(t.count), t.name),
                         human_bytes(t.bytes), fraction, width);
    for (Span& s : line) s.ink = Ink::kDim;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::vector<Line> labelled_lines(const std::string& label, const std::string& text, int width) {
  std::vector<Line> out;
  for (std::string& part : wrap(text, std::max(20, width - kLabel))) {
    out.push_back({{pad_right(out.empty() ? label : "", kLabel)}, {std::move(part)}});
  }
  return out;
}

Line bar_line(const std::string& name, const std::string& amount, double fraction, int width) {
  const int cells = std::min(40, width - 50);
  return {{"  " + pad_right(name, 29) + " "},
          {pad_left(amount, 9) + pad_left(human_percent(fraction), 8) + " "},
          {bar(fraction, cells), Ink::kBar}};
}

std::string what_if_text(const std::string& resource) {
  if (resource == "peak_flops") return "10 % more peak FLOP/s";
  if (resource == "pcie_bandwidth") return "10 % faster pcie and sockets";
  const std::string words = human_words(resource);
  const bool rate = resource.ends_with("_bandwidth") || resource.ends_with("_flops");
  return (rate ? "10 % more " : "10 % less ") + words;
}

std::string role_words(const std::string& role) {
  return role == "worker_and_server" ? "worker that serves" : role;
}

/// "3.1 GB of tensors on a worker, 12.4 GB on a server".
std::vector<Line> role_lines(const MemoryReport& m) {
  if (m.roles.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [role, bytes] : m.roles) {
    parts.push_back(fmt::format("{} on a {}", human_bytes(bytes), role_words(role)));
  }
  return {{{std::string(kLabel, ' ')}, {fmt::format("tensors: {}", fmt::join(parts, ", "))}}};
}

/// What the ranks of a node have in its host's memory and on its drives.
std::vector<Line> host_lines(const MemoryReport& m) {
  if (m.host_bytes == 0) return {};
  std::string text = human_bytes(m.host_bytes);
  if (m.host_capacity_bytes > 0) text += " of " + human_bytes(m.host_capacity_bytes);
  text += " in host memory on the fullest node";
  if (m.storage_bytes > 0) text += fmt::format(", {} on its drives", human_bytes(m.storage_bytes));
  const Ink ink = m.host_fits() ? Ink::kPlain : Ink::kBad;
  return {{{std::string(kLabel, ' ')}, {std::move(text), ink}}};
}

/// "on each rank"; where they are not alike "on the fullest rank, 3 (stage 1, a100-80-sxm)".
std::string where_fullest(const MemoryReport& m) {
  std::vector<std::string> what;
  if (m.stage_bytes.size() > 1) what.push_back(fmt::format("stage {}", m.stage));
  const auto fullest =
      std::ranges::max_element(m.roles, {}, [](const auto& r) { return r.second; });
  if (m.roles.size() > 1) what.push_back("a " + role_words(fullest->first));
  if (!m.device.empty()) what.push_back(m.device);
  if (what.empty()) return "on each rank";
  return fmt::format("on the fullest rank, {} ({})", m.rank, fmt::join(what, ", "));
}

std::vector<Line> verdict_lines(const MemoryReport& m) {
  const std::string where = where_fullest(m);
  const std::string used = human_bytes(m.peak_memory_bytes), room = human_bytes(m.capacity_bytes);
  if (m.fits) {
    const double free = static_cast<double>(m.free_bytes()) /
                        static_cast<double>(std::max<std::int64_t>(1, m.capacity_bytes));
    const bool pressed = m.free_bytes() == 0;  // allocator_reserve took all that was left
    std::vector<Line> out = {
        {{pad_right("FITS", kLabel), Ink::kGood},
         {fmt::format("{} of {} {}, {} free", used, room, where, human_percent(free, 0))},
         {pressed ? ": its allocator must give memory back" : "", Ink::kBad}}};
    append(out, role_lines(m));
    append(out, host_lines(m));
    return out;
  }
  const auto biggest =
      std::max_element(m.items.begin(), m.items.end(),
                       [](const MemoryLine& a, const MemoryLine& b) { return a.bytes < b.bytes; });
  std::vector<Line> out = {
      {{"DOES NOT FIT  ", Ink::kBad}, {fmt::format("needs {} of {} {}", used, room, where)}}};
  if (m.free_bytes() >= 0) {  // on the device it does
    append(out, role_lines(m));
    append(out, host_lines(m));
    return out;
  }
  std::string over = fmt::format("{} too much", human_bytes(-m.free_bytes()));
  if (biggest != m.items.end()) {
    over += fmt::format("; the biggest item: {}, {}", item_label(biggest->name),
                        human_bytes(biggest->bytes));
  }
  out.push_back({{std::string(kLabel, ' ') + over}});
  append(out, role_lines(m));
  append(out, host_lines(m));
  return out;
}

std::vector<Line> memory_lines(const MemoryReport& m, int width) {
  std::vector<Line> out = {
      {},
      {{fmt::format("memory of rank {} at its peak, of {}", m.rank, human_bytes(m.capacity_bytes)),
        Ink::kBold}}};
  const auto capacity = static_cast<double>(std::max<std::int64_t>(1, m.capacity_bytes));
  for (const MemoryLine& item : m.items) {
    out.push_back(bar_line(item_label(item.name), human_bytes(item.bytes),
                           static_cast<double>(item.bytes) / capacity, width));
    if (item.name == "activation") append(out, largest_lines(m, width));
  }
  const std::int64_t free = m.free_bytes();
  Line last = bar_line(free >= 0 ? "free" : "too much", human_bytes(std::abs(free)),
                       static_cast<double>(std::abs(free)) / capacity, width);
  for (Span& s : last) s.ink = free >= 0 ? Ink::kDim : Ink::kBad;
  out.push_back(std::move(last));
  return out;
}

std::string to_text(const Report& r, const TerminalStyle& style) {
  std::vector<Line> lines = header_lines(r, style.width);
  lines.emplace_back();
  append(lines, verdict_lines(r.memory));
  append(lines, speed_lines(r, style.width));
  append(lines, breakdown_lines(r, style.width));
  if (r.training) append(lines, training_lines(*r.training, style.width));
  append(lines, memory_lines(r.memory, style.width));
  append(lines, help_lines(r));
  append(lines, collective_section(r));
  append(lines, contention_section(r));
  append(lines, closing_lines(r, style.width));
  return render(lines, style);
}

}  // namespace plait
