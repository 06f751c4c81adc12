#include "reports/profile/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "model/op_json.h"
#include "reports/profile/kernel_origins.h"
#include "reports/profile/kineto_files.h"
#include "reports/profile/unzipped_text.h"

namespace plait {
namespace {

/// What of an event is kept, by its key.
enum class TraceKey : std::uint8_t {
  kNone,
  kPhase,
  kCategory,
  kName,
  kStart,
  kDuration,
  kArgs,
  kCorrelation,
  kDevice,
  kCollective,
  kDType,
  kIn,
  kOut,
  kRanks,
  kExternal,
  kThread,
  kSequence,
  kForwardThread,
  kDims,
  kStrides,
  kTypes
};

const std::unordered_map<std::string_view, TraceKey>& event_keys() {
  static const std::unordered_map<std::string_view, TraceKey> keys = {
      {"ph", TraceKey::kPhase},   {"cat", TraceKey::kCategory}, {"name", TraceKey::kName},
      {"ts", TraceKey::kStart},   {"dur", TraceKey::kDuration}, {"args", TraceKey::kArgs},
      {"tid", TraceKey::kThread},
  };
  return keys;
}

const std::unordered_map<std::string_view, TraceKey>& argument_keys() {
  static const std::unordered_map<std::string_view, TraceKey> keys = {
      {"correlation", TraceKey::kCorrelation},
      {"device", TraceKey::kDevice},
      {"Collective name", TraceKey::kCollective},
      {"dtype", TraceKey::kDType},
      {"In msg nelems", TraceKey::kIn},
      {"Out msg nelems", TraceKey::kOut},
      {"Group size", TraceKey::kRanks},
      {"External id", TraceKey::kExternal},
      {"Sequence number", TraceKey::kSequence},
      {"Fwd thread id", TraceKey::kForwardThread},
      {"Input Dims", TraceKey::kDims},
      {"Input Strides", TraceKey::kStrides},
      {"Input type", TraceKey::kTypes},
  };
  return keys;
}

TraceKey key_in(const std::unordered_map<std::string_view, TraceKey>& keys,
                const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() ? TraceKey::kNone : found->second;
}

/// The least and the most nanoseconds that a time may have: those of the year 2096. Differences of
/// sums of two are numbers, too.
constexpr std::int64_t kMostNs = 4'000'000'000'000'000'000, kLeastNs = -kMostNs / 4;

/// Microseconds as they stand in the file, with all their digits: those since 1970 have more than a
/// double does.
std::int64_t nanoseconds_of(double value, const std::string& digits) {
  const std::size_t point = digits.find('.');
  constexpr double kMostUs = static_cast<double>(kMostNs) / 1e3, kLeastUs = -kMostUs / 4;
  if (point > 16 || !(std::abs(value) < kMostUs) ||
      digits.find_first_not_of("0123456789.") != std::string::npos) {
    return static_cast<std::int64_t>(std::clamp(value, kLeastUs, kMostUs) * 1e3);
  }
  const std::string decimals = (digits.substr(point + 1) + "000").substr(0, 3);
  return 1000 * std::stoll("0" + digits.substr(0, point)) + std::stoll(decimals);
}

struct EventParts {
  std::string phase, category, name;
  bool starts = false, lasts = false;  // the times below are numbers, the duration none below 0
  std::int64_t start_ns = 0, duration_ns = 0, correlation = -1, external = -1, device = 0;
  std::int64_t thread = 0, sequence = -1, forward_thread = 0;  // of an operator
  TraceCall call;
  OperandShapes operands;

  void clear() {
    phase.clear(), category.clear(), name.clear();
    starts = lasts = false;
    start_ns = duration_ns = device = 0, correlation = external = -1;
    thread = forward_thread = 0, sequence = -1;
    operands.clear();
    call.name.clear(), call.dtype.clear(), call.in = call.out = -1, call.ranks = 0;
  }
};

/// The receiver of nlohmann's SAX events.
class KinetoReader {
 public:
  KinetoReader(KinetoTrace& out, TopLevel& top)
      : out_(out), top_(top), operators_(out.threads, out.operator_names) {}

  bool null() { return true; }
  bool boolean(bool value) { return number(value ? 1 : 0, value ? 1000 : 0); }
  bool number_integer(std::int64_t value) { return number(value, whole_microseconds(value)); }
  bool number_unsigned(std::uint64_t value) {
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return number_integer(static_cast<std::int64_t>(std::min(value, most)));
  }
  bool number_float(double value, const std::string& digits) {
    return number(static_cast<std::int64_t>(std::clamp(value, -9e18, 9e18)),
                  nanoseconds_of(value, digits));
  }
  bool string(std::string& value) {
    if (in_event_) {
      take_text(value);
    } else {
      top_text(value);
    }
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return true; }

  bool start_object(std::size_t) {
    ++depth_;
    if (events_depth_ > 0 && depth_ == events_depth_ && !in_event_) {
      in_event_ = true, event_.clear();
    }
    if (!in_event_ && depth_ == 3 && section_ == "deviceProperties") out_.gpus.emplace_back();
    return true;
  }
  bool end_object() {
    if (in_event_ && depth_ == events_depth_) {
      in_event_ = false;
      ++out_.read;
      keep();
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (in_event_) start_list();
    if (depth_ == 0) events_depth_ = 2;  // a bare list of events is a Chrome trace too
    if (depth_ == 1 && section_ == "traceEvents") events_depth_ = 3;
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    if (depth_ == 1) events_depth_ = 0;
    return true;
  }
  bool key(std::string& key) {
    if (in_event_) {
      const int inside = depth_ - events_depth_;
      if (inside == 0) outer_ = key_ = key_in(event_keys(), key);
      if (inside == 1) {
        key_ = outer_ == TraceKey::kArgs ? key_in(argument_keys(), key) : TraceKey::kNone;
        if (key_ >= TraceKey::kDims && !is_product(event_.name)) key_ = TraceKey::kNone;
      }
      return true;
    }
    if (depth_ == 1) section_ = key, top_.add(key);
    if (depth_ > 1) name_ = key, top_.add_inner(section_, key);
    return true;
  }
  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& error) {
    position_ = position, error_ = error.what();
    return false;
  }

  void put_in_order() { operators_.put_in_order(); }
  std::size_t position() const { return position_; }
  /// The document was whole, and more text behind it.
  bool wanted_end() const { return error_.find("; expected end of input") != std::string::npos; }

 private:
  static std::int64_t whole_microseconds(std::int64_t value) {
    return std::clamp(value, kLeastNs / 1000, kMostNs / 1000) * 1000;
  }

  /// A number, and in nanoseconds where it is a time in microseconds. Values in lists inside of
  /// arguments are of no key.
  bool number(std::int64_t value, std::int64_t ns) {
    if (!in_event_) return top_number(value);
    const int inside = depth_ - events_depth_;
    if (inside == 3 && key_ == TraceKey::kDims) add_to_last(event_.operands.dims, value);
    if (inside == 3 && key_ == TraceKey::kStrides) add_to_last(event_.operands.strides, value);
    if (inside == 0 && key_ == TraceKey::kStart) event_.starts = true, event_.start_ns = ns;
    if (inside == 0 && key_ == TraceKey::kDuration)
      event_.lasts = ns >= 0, event_.duration_ns = std::max<std::int64_t>(0, ns);
    if (inside == 0 && key_ == TraceKey::kThread) event_.thread = value;
    if (inside == 1) argument(value);
    return true;
  }
  void argument(std::int64_t value) {
    if (key_ == TraceKey::kCorrelation) event_.correlation = value;
    if (key_ == TraceKey::kExternal) event_.external = value;
    if (key_ == TraceKey::kDevice) event_.device = value;
    if (key_ == TraceKey::kIn) event_.call.in = value;
    if (key_ == TraceKey::kOut) event_.call.out = value;
    if (key_ == TraceKey::kRanks) event_.call.ranks = value;
    if (key_ == TraceKey::kSequence) event_.sequence = value;
    if (key_ == TraceKey::kForwardThread) event_.forward_thread = value;
  }
  static void add_to_last(std::vector<std::vector<std::int64_t>>& lists, std::int64_t value) {
    if (!lists.empty()) lists.back().push_back(value);
  }
  /// Of a list of lists, one for each operand, another one.
  void start_list() {
    if (depth_ - events_depth_ != 2) return;
    if (key_ == TraceKey::kDims) event_.operands.dims.emplace_back();
    if (key_ == TraceKey::kStrides) event_.operands.strides.emplace_back();
  }
  void take_text(std::string& value) {
    const int inside = depth_ - events_depth_;
    if (inside == 0 && key_ == TraceKey::kPhase) event_.phase.swap(value);
    if (inside == 0 && key_ == TraceKey::kCategory) event_.category.swap(value);
    if (inside == 0 && key_ == TraceKey::kName) event_.name.swap(value);
    if (inside == 2 && key_ == TraceKey::kTypes) event_.operands.types.push_back(value);
    if (inside != 1) return;
    if (key_ == TraceKey::kCollective) event_.call.name.swap(value);
    if (key_ == TraceKey::kDType) event_.call.dtype.swap(value);
  }
  bool top_number(std::int64_t value) {
    if (depth_ == 1 && section_ == "baseTimeNanoseconds") out_.base_ns = value;
    if (depth_ == 1 && section_ == "with_stack") out_.with_stack = value != 0;
    if (depth_ == 1 && section_ == "record_shapes") out_.record_shapes = value != 0;
    if (depth_ == 1 && section_ == "profile_memory") out_.profile_memory = value != 0;
    if (depth_ == 2 && section_ == "distributedInfo") {
      if (name_ == "rank") out_.rank = value;
      if (name_ == "world_size") out_.world_size = value;
    }
    if (depth_ == 3 && section_ == "deviceProperties" && !out_.gpus.empty()) {
      if (name_ == "id") out_.gpus.back().id = value;
      if (name_ == "numSms") out_.gpus.back().sms = value;
    }
    return true;
  }
  void top_text(const std::string& value) {
    const bool of_gpu = depth_ == 3 && section_ == "deviceProperties" && !out_.gpus.empty();
    if (of_gpu && name_ == "name") out_.gpus.back().name = value;
  }

  // Categories before Kineto had a schema version were "Kernel", "Memcpy", "Memset" and "Runtime".
  void keep() {
    const std::string& c = event_.category;
    if (event_.phase != "X") return;
    if (c == "kernel" || c == "Kernel") return keep_work(TraceWork::kKernel);
    if (c == "gpu_memcpy" || c == "Memcpy") return keep_work(TraceWork::kMemcpy);
    if (c == "gpu_memset" || c == "Memset") return keep_work(TraceWork::kMemset);
    if (c == "cuda_runtime" || c == "cuda_driver" || c == "Runtime") return keep_launch();
    if (c == "cpu_op" || c == "user_annotation") keep_operator();
    if (is_product(event_.name)) return keep_product();
    if (event_.name.starts_with("ProfilerStep#")) {
      keep_step(c == "gpu_user_annotation" ? out_.device_steps : out_.steps);
    }
  }
  void require_times() const {
    if (!event_.starts) refuse_event(out_, event_.name, "ts", "a number, in microseconds");
    if (!event_.lasts) refuse_event(out_, event_.name, "dur", "a number from 0, in microseconds");
  }
  void keep_work(TraceWork work) {
    require_times();
    const auto number =
        names_.try_emplace(event_.name, static_cast<std::uint32_t>(out_.names.size()));
    if (number.second) out_.names.push_back(event_.name);
    out_.events.push_back({event_.start_ns, event_.start_ns + event_.duration_ns,
                           event_.correlation, event_.external, number.first->second, call_number(),
                           static_cast<std::int32_t>(event_.device), work});
  }
  std::int32_t call_number() {
    const TraceCall& call = event_.call;
    if (call.name.empty()) return -1;
    const std::string key =
        fmt::format("{} {} {} {} {}", call.name, call.dtype, call.in, call.out, call.ranks);
    const auto number = calls_.try_emplace(key, static_cast<std::int32_t>(out_.calls.size()));
    if (number.second) out_.calls.push_back(call);
    return number.first->second;
  }
  void keep_launch() {
    const auto has = [&](const char* part) { return event_.name.find(part) != std::string::npos; };
    if (event_.correlation < 0 || !(has("aunch") || has("emcpy") || has("emset"))) return;
    out_.launches.push_back(
        {event_.correlation, event_.start_ns, event_.start_ns + event_.duration_ns});
  }
  void keep_operator() {
    const bool annotation = event_.category != "cpu_op";
    if (annotation && !says_what_for(event_.name)) return;
    operators_.add({event_.name, event_.thread, event_.start_ns,
                    event_.start_ns + event_.duration_ns, event_.external, event_.sequence,
                    event_.forward_thread > 0});
  }
  void keep_product() {
    const std::optional<MatMul> product = product_of(event_.name, event_.operands);
    if (!product || event_.external < 0) return;
    const auto number =
        shapes_.try_emplace(to_json(*product), static_cast<std::uint32_t>(out_.shapes.size()));
    if (number.second) out_.shapes.push_back(*product);
    out_.products.push_back({event_.external, number.first->second});
  }
  void keep_step(std::vector<TraceStep>& steps) {
    require_times();
    const std::int64_t number = std::atoll(event_.name.c_str() + event_.name.find('#') + 1);
    steps.push_back({number, event_.start_ns, event_.start_ns + event_.duration_ns});
  }

  KinetoTrace& out_;
  TopLevel& top_;
  OperatorReader operators_;
  int depth_ = 0, events_depth_ = 0;  // containers that are open, and that an event is within
  bool in_event_ = false;
  std::string section_, name_;  // keys at the top and below
  TraceKey outer_ = TraceKey::kNone, key_ = TraceKey::kNone;
  EventParts event_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::int32_t> calls_;
  std::unordered_map<std::string, std::uint32_t> shapes_;
  std::size_t position_ = 0;
  std::string error_;
};

void put_in_order(KinetoTrace& trace) {
  std::ranges::stable_sort(trace.launches, {}, &TraceLaunch::correlation);
  for (auto* steps : {&trace.steps, &trace.device_steps}) {
    std::ranges::stable_sort(*steps, {},
                             [](const TraceStep& s) { return std::pair(s.number, s.start_ns); });
    const auto same = [](const TraceStep& a, const TraceStep& b) { return a.number == b.number; };
    steps->erase(std::unique(steps->begin(), steps->end(), same), steps->end());
  }
}

}  // namespace

std::int64_t TraceCall::bytes() const {
  // c10/core/ScalarType.h; complex types and packed ones are not sent by training.
  constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
      {"Byte", 1},   {"Char", 1},   {"Short", 2},  {"Int", 4},  {"Long", 8},
      {"Half", 2},   {"Float", 4},  {"Double", 8}, {"Bool", 1}, {"BFloat16", 2},
      {"UInt16", 2}, {"UInt32", 4}, {"UInt64", 8}};
  constexpr std::int64_t kMostElements = 1'000'000'000'000'000;
  const std::int64_t elements = std::min(std::max(in, out), kMostElements);
  if (elements <= 0) return 0;
  for (const auto& [type, size] : kSizes) {
    if (type == dtype) return elements * size;
  }
  return dtype.starts_with("Float8") ? elements : 0;
}

KinetoTrace read_kineto(const std::string& path, const Watch& watch) {
  KinetoTrace out;
  out.file = input_name(path);
  UnzippedText text(path, watch);
  refuse_by_first_bytes(text.first(), out.file);
  std::istream stream(&text);
  stream.exceptions(std::ios::badbit);  // passes on what reading throws
  TopLevel top;
  KinetoReader reader(out, top);
  if (!nlohmann::json::sax_parse(stream, &reader)) {
    const bool at_end = text.sgetc() == std::char_traits<char>::eof();
    refuse_text(top, out.file, reader.position(), at_end && !reader.wanted_end());
  }
  refuse_other_traces(top, out);
  reader.put_in_order();
  put_in_order(out);
  return out;
}

}  // namespace plait
