#include "costmodel/fit/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  FitQuality out;
  out.name = name;
  out.fitted_rows = static_cast<std::int64_t>(times.fitted.size());
  out.held_out_rows = static_cast<std::int64_t>(times.held_out.size());
  const auto error = [&](std::int64_t bytes, double seconds) {
    return std::abs(std::log(predicted(Bytes(bytes)).value / seconds));
  };
  for (const auto& [bytes, seconds] : times.fitted) out.fitted_error += error(bytes, seconds);
  for (const auto& [bytes, seconds] : times.held_out) {
    const double e = error(bytes, seconds);
    out.held_out_error += e;
    if (e >= out.worst_error) out.worst_error = e, out.worst = fmt::format("{} bytes", bytes);
  }
  out.fitted_error /= static_cast<double>(std::max<std::int64_t>(out.fitted_rows, 1));
  out.held_out_error /= static_cast<double>(std::max<std::int64_t>(out.held_out_rows, 1));
  return out;
}

void fit_copies(const std::vector<Row>& rows, const std::string& what, Piecewise& into,
                CalibrationResult& result) {
  BySize times;
  for (const Row& row : rows) {
    const auto* copy = std::get_if<CopyRow>(&row);
    if (copy == nullptr || copy->what != what || !(copy->cpu.median > 0)) continue;
    times[copy->bytes] = copy->cpu.median;
  }
  if (times.empty()) return;
  const Split parts = split(times);
  into = table_of(parts.fitted);
  result.quality.push_back(judge(what, parts, [&](Bytes b) { return into.at(b); }));
}

struct Messages {
  BySize send, receive, gaps;
};

/// What is left of the one-way time when both ends' work is taken away. Large messages are in
/// pieces that both ends work on at once; only below this size one follows the other.
constexpr std::int64_t kSmall = 4096;

Seconds latency_of(const BySize& gaps) {
  std::vector<double> small;
  for (const auto& [bytes, gap] : gaps) {
    if (bytes <= kSmall) small.push_back(std::max(gap, 0.0));
  }
  if (small.empty()) return {};
  std::ranges::nth_element(small, small.begin() + static_cast<std::ptrdiff_t>(small.size() / 2));
  return Seconds(small[small.size() / 2]);
}

/// The way of a message, from an exchange behind work: what two wakes and both ends' work leave.
Seconds latency_of(const WakeRow& row, const MessageFit& fit) {
  const Bytes bytes(row.bytes);
  const double ends = fit.send.at(bytes).value + fit.receive.at(bytes).value;
  return Seconds(std::max(0.0, row.exchange.median - 2 * row.wall.median - ends));
}

void fit_transport(const std::string& name, const Messages& m, CalibrationResult& result) {
  MessageFit fit;
  fit.send = table_of(split(m.send).fitted);
  fit.receive = table_of(split(m.receive).fitted);
  fit.latency = latency_of(m.gaps);
  BySize work;  // of both ends
  for (const auto& [bytes, seconds] : m.send) work[bytes] = seconds + m.receive.at(bytes);
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
    m.send[message->bytes] = message->send_cpu.median;
    m.receive[message->bytes] = message->receive_cpu.median;
    m.gaps[message->bytes] =
        message->one_way.median - message->send_cpu.median - message->receive_cpu.median;
  }
  for (const auto& [name, messages] : transports) fit_transport(name, messages, result);
  for (const Row& row : rows) {
    const auto* wake = std::get_if<WakeRow>(&row);
    if (wake == nullptr || !result.calibration.transports.contains(wake->transport)) continue;
    MessageFit& fit = result.calibration.transports[wake->transport];
    fit.wake = Seconds(wake->wall.median);
    if (wake->exchange.median > 0) fit.latency = latency_of(*wake, fit);
  }
}

}  // namespace

void fit_tables(const std::vector<Row>& rows, CalibrationResult& result) {
  fit_copies(rows, "copy", result.calibration.copy, result);
  fit_copies(rows, "combine", result.calibration.combine, result);
  fit_messages(rows, result);
}

}  // namespace plait
