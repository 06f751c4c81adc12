#include "costmodel/fit/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "costmodel/fit/judgement.h"
#include "costmodel/fit/measured_times.h"

namespace plait {
namespace {

/// Times of one thing at ascending sizes.
using BySize = std::map<std::int64_t, double>;

struct Split {
  BySize fitted, held_out;
};

bool is_judged(std::size_t place, std::size_t sizes) { return place % 3 == 1 && place + 1 < sizes; }

Split split(const BySize& all) {
  Split out;
  std::size_t place = 0;
  for (const auto& [bytes, seconds] : all) {
    (is_judged(place++, all.size()) ? out.held_out : out.fitted)[bytes] = seconds;
  }
  return out;
}

Piecewise table_of(const BySize& times) {
  std::vector<Piecewise::Point> points;
  for (const auto& [bytes, seconds] : times) {
    points.push_back({static_cast<double>(bytes), seconds});
  }
  return Piecewise(std::move(points));
}

template <class Predicted>
FitQuality judge(const std::string& name, const Split& times, Predicted&& predicted) {
  Judgement out(name);
  const auto error = [&](std::int64_t bytes, double seconds) {
    return std::log(predicted(Bytes(bytes)).value / seconds);
  };
  for (const auto& [bytes, seconds] : times.fitted) out.add_fitted(error(bytes, seconds));
  for (const auto& [bytes, seconds] : times.held_out) {
    out.add_held_out(error(bytes, seconds),
                     [size = bytes] { return fmt::format("{} bytes", size); });
  }
  return out.quality();
}

void fit_copies(const std::vector<Row>& rows, const std::string& what, Piecewise& into,
                CalibrationResult& result) {
  MeasuredTimes<std::int64_t> times;
  for (const Row& row : rows) {
    const auto* copy = std::get_if<CopyRow>(&row);
    if (copy == nullptr || copy->what != what || !(copy->cpu.median > 0)) continue;
    times.add(copy->bytes, copy->cpu.median);
  }
  if (times.empty()) return;
  const Split parts = split(times.medians());
  into = table_of(parts.fitted);
  result.quality.push_back(judge(what, parts, [&](Bytes b) { return into.at(b); }));
}

struct Messages {
  MeasuredTimes<std::int64_t> send, receive, gaps;  // by size
};

/// What is left of the one-way time when both ends' work is taken away. Large messages are in
/// pieces that both ends work on at once; only below this size one follows the other.
constexpr std::int64_t kSmall = 4096;

Seconds latency_of(const BySize& gaps) {
  std::vector<double> small;
  for (const auto& [bytes, gap] : gaps) {
    if (bytes <= kSmall) small.push_back(std::max(gap, 0.0));
  }
  return small.empty() ? Seconds() : Seconds(median(small));
}

/// The way of a message, from an exchange behind work: what two wakes and both ends' work leave.
Seconds latency_of(const WakeRow& row, const MessageFit& fit) {
  const Bytes bytes(row.bytes);
  const double ends = fit.send.at(bytes).value + fit.receive.at(bytes).value;
  return Seconds(std::max(0.0, row.exchange.median - 2 * row.wall.median - ends));
}

void fit_transport(const std::string& name, const Messages& m, CalibrationResult& result) {
  MessageFit fit;
  const BySize send = m.send.medians(), receive = m.receive.medians();
  fit.send = table_of(split(send).fitted);
  fit.receive = table_of(split(receive).fitted);
  fit.latency = latency_of(m.gaps.medians());
  BySize work;  // of both ends
  for (const auto& [bytes, seconds] : send) work[bytes] = seconds + receive.at(bytes);
  const FitQuality quality = judge("messages " + name, split(work),
                                   [&](Bytes b) { return fit.send.at(b) + fit.receive.at(b); });
  fit.held_out_error = quality.held_out_error;
  result.quality.push_back(quality);
  result.calibration.transports[name] = fit;
}

void fit_messages(const std::vector<Row>& rows, CalibrationResult& result) {
  std::map<std::string, Messages> transports;
  for (const Row& row : rows) {
    const auto* message = std::get_if<MessageRow>(&row);
    if (message == nullptr) continue;
    if (!(message->send_cpu.median > 0) || !(message->receive_cpu.median > 0)) continue;
    Messages& m = transports[message->transport];
    m.send.add(message->bytes, message->send_cpu.median);
    m.receive.add(message->bytes, message->receive_cpu.median);
    m.gaps.add(message->bytes,
               message->one_way.median - message->send_cpu.median - message->receive_cpu.median);
  }
  for (const auto& [name, messages] : transports) fit_transport(name, messages, result);
}

/// Of transports whose messages are known.
void fit_wakes(const std::vector<Row>& rows, CalibrationResult& result) {
  MeasuredTimes<std::string> wakes, latencies;
  for (const Row& row : rows) {
    const auto* wake = std::get_if<WakeRow>(&row);
    if (wake == nullptr || !result.calibration.transports.contains(wake->transport)) continue;
    wakes.add(wake->transport, wake->wall.median);
    if (wake->exchange.median <= 0) continue;
    const MessageFit& fit = result.calibration.transports[wake->transport];
    latencies.add(wake->transport, latency_of(*wake, fit).value);
  }
  for (const auto& [transport, seconds] : wakes.medians())
    result.calibration.transports[transport].wake = Seconds(seconds);
  for (const auto& [transport, seconds] : latencies.medians())
    result.calibration.transports[transport].latency = Seconds(seconds);
}

}  // namespace

void fit_tables(const std::vector<Row>& rows, CalibrationResult& result) {
  fit_copies(rows, "copy", result.calibration.copy, result);
  fit_copies(rows, "combine", result.calibration.combine, result);
  fit_messages(rows, result);
  fit_wakes(rows, result);
}

}  // namespace plait
