#include "model/measurement.h"

#include <fmt/format.h>

#include "core/fields.h"
#include "model/op_json.h"

namespace plait {
namespace {

constexpr Real kTime{.min = 0};
constexpr Int kCount{.min = 0};

/// Of what was timed: a time of 0 says nothing.
struct TimeAboveZero {
  Shape shape() const {
    Shape out = kTime.shape();
    out.expectation = "a time above 0";
    return out;
  }
  void read(const Json& json, double& into) const {
    kTime.read(json, into);
    if (!(into > 0)) refuse_range(json, shape().expectation);
  }
  std::string write(double v) const { return kTime.write(v); }
};

template <class T>
Field<T> text(std::string key, std::string T::*member) {
  return field(std::move(key), member, Text{}, "").required();
}
template <class T>
Field<T> count(std::string key, std::int64_t T::*member) {
  return field(std::move(key), member, kCount, "").required();
}
template <class T>
Field<T> number(std::string key, double T::*member) {
  return field(std::move(key), member, kTime, "").required();
}

// What rows that are written by hand need not say.
template <class T>
Field<T> told_text(std::string key, std::string T::*member) {
  return field(std::move(key), member, Text{}, "");
}
template <class T>
Field<T> told_count(std::string key, std::int64_t T::*member) {
  return field(std::move(key), member, kCount, "");
}
template <class T>
Field<T> told_number(std::string key, double T::*member) {
  return field(std::move(key), member, kTime, "");
}

const Table<Spread>& spread_table() {
  static const Table<Spread> table(
      "spread", {number("median", &Spread::median), told_number("p10", &Spread::p10),
                 told_number("p90", &Spread::p90)});
  return table;
}
const Table<Spread>& kernel_spread_table() {
  static const Table<Spread> table(
      "spread", {field("median", &Spread::median, TimeAboveZero{}, "").required(),
                 told_number("p10", &Spread::p10), told_number("p90", &Spread::p90)});
  return table;
}
template <class T>
Field<T> spread(std::string key, Spread T::*member) {
  return field(std::move(key), member, Nested{&spread_table()}, "").required();
}

const Table<RunRow>& table_of(const RunRow&) {
  using R = RunRow;
  static const Table<R> table(
      "run",
      {text("bench", &R::bench), told_text("version", &R::version),
       told_text("command", &R::command), told_text("date", &R::date), told_text("host", &R::host),
       text("processor", &R::processor), told_count("cores", &R::cores),
       told_text("os_kernel", &R::kernel), told_text("compiler", &R::compiler),
       told_text("blas", &R::blas), text("quiet", &R::quiet),
       told_number("core_to_core_ns", &R::core_to_core_ns), told_number("jitter", &R::jitter),
       told_text("memory", &R::memory), told_count("threads", &R::threads)});
  return table;
}
const Table<KernelRow>& table_of(const KernelRow&) {
  using R = KernelRow;
  static const Table<R> table(
      "kernel", {field("op", &R::op, ComputeRule{}, "").required(), told_count("round", &R::round),
                 told_count("repeats", &R::repeats), told_count("calls", &R::calls),
                 field("wall_s", &R::wall, Nested{&spread_table()}, ""),
                 field("cpu_s", &R::cpu, Nested{&kernel_spread_table()}, "").required(),
                 told_count("switches", &R::switches), told_count("traffic_bytes", &R::traffic)});
  return table;
}
const Table<CopyRow>& table_of(const CopyRow&) {
  using R = CopyRow;
  static const Table<R> table(
      "copy", {text("what", &R::what), count("bytes", &R::bytes), count("repeats", &R::repeats),
               count("calls", &R::calls), spread("wall_s", &R::wall), spread("cpu_s", &R::cpu),
               number("bandwidth_bytes_per_s", &R::bandwidth)});
  return table;
}
const Table<LaunchRow>& table_of(const LaunchRow&) {
  using R = LaunchRow;
  static const Table<R> table(
      "launch", {text("how", &R::how), count("kernels", &R::kernels), count("repeats", &R::repeats),
                 spread("wall_s", &R::wall)});
  return table;
}
const Table<OverlapRow>& table_of(const OverlapRow&) {
  using R = OverlapRow;
  static const Table<R> table(
      "overlap",
      {field("op", &R::op, ComputeRule{}, "").required(), text("transport", &R::transport),
       text("communication", &R::communication), count("ranks", &R::ranks),
       count("size_bytes", &R::size), count("multiprocessors", &R::multiprocessors),
       count("repeats", &R::repeats), field("covered", &R::covered, Flag{}, "").required(),
       spread("compute_alone_s", &R::compute_alone), spread("compute_beside_s", &R::compute_beside),
       spread("communication_alone_s", &R::communication_alone),
       spread("communication_beside_s", &R::communication_beside)});
  return table;
}
const Table<GpuRow>& table_of(const GpuRow&) {
  using R = GpuRow;
  static const Table<R> table(
      "gpu",
      {text("at", &R::at), count("sm_clock_mhz", &R::sm_clock_mhz),
       count("memory_clock_mhz", &R::memory_clock_mhz), count("temperature_c", &R::temperature_c),
       number("power_w", &R::power_w), text("throttled", &R::throttled)});
  return table;
}
const Table<MessageRow>& table_of(const MessageRow&) {
  using R = MessageRow;
  static const Table<R> table(
      "message", {text("transport", &R::transport), count("bytes", &R::bytes),
                  count("repeats", &R::repeats), spread("one_way_s", &R::one_way),
                  spread("send_cpu_s", &R::send_cpu), spread("receive_cpu_s", &R::receive_cpu)});
  return table;
}
const Table<WakeRow>& table_of(const WakeRow&) {
  using R = WakeRow;
  static const Table<R> table(
      "wake",
      {text("transport", &R::transport), count("repeats", &R::repeats), spread("wall_s", &R::wall),
       count("bytes", &R::bytes), spread("exchange_s", &R::exchange)});
  return table;
}
const Table<CollectiveRow::Timed>& timed_table() {
  using T = CollectiveRow::Timed;
  static const Table<T> table("timed", {number("time_us", &T::time_us), number("algbw", &T::algbw),
                                        number("busbw", &T::busbw)});
  return table;
}
const Table<CollectiveRow>& table_of(const CollectiveRow&) {
  using R = CollectiveRow;
  static const Table<R> table(
      "collective",
      {text("transport", &R::transport), text("collective", &R::collective),
       count("ranks", &R::ranks), count("size", &R::size), count("count", &R::count),
       text("type", &R::type), text("redop", &R::redop),
       field("root", &R::root, Int{.min = -1}, "").required(), count("repeats", &R::repeats),
       field("out_of_place", &R::out_of_place, Nested{&timed_table()}, "").required(),
       field("in_place", &R::in_place, Nested{&timed_table()}, "").required(),
       number("cpu_us", &R::cpu_us)});
  return table;
}
const Table<EndRow>& table_of(const EndRow&) {
  static const Table<EndRow> table(
      "end", {number("stolen", &EndRow::stolen), text("quiet", &EndRow::quiet)});
  return table;
}

std::string_view kind_of(const RunRow&) { return "run"; }
std::string_view kind_of(const KernelRow&) { return "kernel"; }
std::string_view kind_of(const CopyRow&) { return "copy"; }
std::string_view kind_of(const LaunchRow&) { return "launch"; }
std::string_view kind_of(const OverlapRow&) { return "overlap"; }
std::string_view kind_of(const GpuRow&) { return "gpu"; }
std::string_view kind_of(const MessageRow&) { return "message"; }
std::string_view kind_of(const WakeRow&) { return "wake"; }
std::string_view kind_of(const CollectiveRow&) { return "collective"; }
std::string_view kind_of(const EndRow&) { return "end"; }

/// Calls `work` with a default row of each kind in turn.
template <std::size_t i = 0, class Work>
void for_each_kind(Work&& work) {
  if constexpr (i < std::variant_size_v<Row>) {
    work(std::variant_alternative_t<i, Row>{});
    for_each_kind<i + 1>(std::forward<Work>(work));
  }
}

template <class R>
R read_row(const Json& json) {
  const Table<R>& table = table_of(R{});
  std::vector<std::string> keys = table.keys();
  keys.emplace_back("kind");
  refuse_unknown_keys(json, keys);
  R row;
  for (const Field<R>& f : table.fields()) {
    const Json* member = json.find(f.key);
    if (member != nullptr) {
      f.read(*member, row);
    } else if (f.need == Need::kRequired) {
      refuse_missing(json, {{f.key, f.shape().expectation}});
    }
  }
  return row;
}

struct Identity {
  std::string operator()(const RunRow& r) const { return "run " + r.bench; }
  std::string operator()(const KernelRow& r) const {
    return fmt::format("kernel {} {}", r.round, to_json(r.op));
  }
  std::string operator()(const CopyRow& r) const {
    return fmt::format("copy {} {}", r.what, r.bytes);
  }
  std::string operator()(const LaunchRow& r) const {
    return fmt::format("launch {} {}", r.how, r.kernels);
  }
  std::string operator()(const OverlapRow& r) const {
    return fmt::format("overlap {} {} {} {} {}", r.transport, r.communication, r.ranks, r.size,
                       to_json(r.op));
  }
  std::string operator()(const GpuRow& r) const { return "gpu " + r.at; }
  std::string operator()(const MessageRow& r) const {
    return fmt::format("message {} {}", r.transport, r.bytes);
  }
  std::string operator()(const WakeRow& r) const { return "wake " + r.transport; }
  std::string operator()(const CollectiveRow& r) const {
    return fmt::format("collective {} {} {} {}", r.transport, r.collective, r.ranks, r.size);
  }
  std::string operator()(const EndRow&) const { return "end"; }
};

/// One line of a file; errors name the line in the file.
Row row_of_line(const std::string& line, const std::string& file, int number) {
  try {
    return row_from(parse_json(line, file).root());
  } catch (const InputError& error) {
    InputError::Text text = error.text();
    text.where.line = number;
    throw InputError(std::move(text));
  }
}

}  // namespace

std::string to_json(const Row& row) {
  return std::visit(
      [](const auto& r) {
        const std::string members = table_of(r).write(r);
        return R"({"kind":)" + json_quote(kind_of(r)) + "," + members.substr(1);
      },
      row);
}

Row row_from(const Json& json) {
  std::vector<std::string> kinds;
  for_each_kind([&](const auto& row) { kinds.emplace_back(kind_of(row)); });
  const Text rule{kinds};
  if (!json.is(Json::Kind::kObject)) refuse_type(json, "a row of measurements");
  const Json* kind = json.find("kind");
  if (kind == nullptr) refuse_missing(json, {{"kind", rule.shape().expectation}});
  std::string name;
  rule.read(*kind, name);
  Row out;
  for_each_kind([&](const auto& row) {
    if (kind_of(row) == name) out = read_row<std::decay_t<decltype(row)>>(json);
  });
  return out;
}

std::string identity_of(const Row& row) { return std::visit(Identity{}, row); }

namespace {

[[noreturn]] void refuse_file(const std::string& file) {
  throw InputError({.code = "K003",
                    .problem = file + " is no file of measurements",
                    .where = {file, 1, 1, ""},
                    .expected = "JSON lines, the first with \"kind\": \"run\"",
                    .cure = "measure with plait bench --output FILE"});
}

constexpr const char* kBlanks = " \t\r\n";

/// A scenario, a report or a calibration: one document over many lines, each of which alone would
/// be malformed. Or a file of another program.
void refuse_other_file(const std::string& text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) refuse_file(file);
  const std::size_t end = text.find('\n', begin);
  if (text.substr(begin, end - begin).find("\"kind\"") == std::string::npos) refuse_file(file);
  if (end == std::string::npos || text.find_first_not_of(" \t\r", begin + 1) < end) return;
  try {
    parse_json(text, file);
  } catch (const InputError&) {
    return;  // lines say what is wrong with them
  }
  refuse_file(file);
}

}  // namespace

std::vector<Row> parse_rows(const std::string& text, const std::string& file) {
  refuse_other_file(text, file);
  std::vector<Row> rows;
  int number = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    ++number;
    const std::string line = text.substr(begin, end - begin);
    if (line.find_first_not_of(kBlanks) == std::string::npos) continue;
    rows.push_back(row_of_line(line, file, number));
  }
  if (rows.empty() || !std::holds_alternative<RunRow>(rows.front())) {
    refuse_file(file);
  }
  return rows;
}

}  // namespace plait
