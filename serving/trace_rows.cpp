#include "serving/trace_rows.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <regex>
#include <string_view>

#include "core/csv_reader.h"
#include "core/fields.h"
#include "core/parse_number.h"
#include "core/time.h"

namespace plait {
namespace {

constexpr Int kTokens{.min = 1, .max = 1 << 28};
constexpr Int kPrefixTokens{.min = 0, .max = kTokens.max};
constexpr Int kAnswer{.min = 0, .max = kTokens.max};  // 0: a failure, which is left out
/// Also since 1970: how long a trace lasts is known once all of it is.
constexpr Real kArrival{.min = 0, .max = 1e11};
constexpr double kLongest = to_seconds(kLongestTime).value;

const Table<TraceRow>& row_table() {
  using R = TraceRow;
  static const Table<R> table(
      "request", {
                     field("arrival_s", &R::arrival_s, kArrival, "Since the start.").required(),
                     field("prompt_tokens", &R::prompt_tokens, kTokens, "").required(),
                     field("output_tokens", &R::output_tokens, kAnswer, "").required(),
                     field("kind", &R::kind, Text{}, ""),
                     field("prefix_id", &R::prefix_id, Text{}, ""),
                     field("prefix_tokens", &R::prefix_tokens, kPrefixTokens, ""),
                     field("conversation_id", &R::conversation_id, Text{}, ""),
                     field("hash_ids", &R::hash_ids, List{Int{.min = 0}}, ""),
                 });
  return table;
}

/// As Mooncake writes them.
struct TimestampRow {
  double timestamp = 0;  // milliseconds
  TraceRow row;
};

const Table<TimestampRow>& mooncake_table() {
  using R = TimestampRow;
  const auto part = [](auto member) {
    return [member](R & r) -> auto& { return r.row.*member; };
  };
  static const Table<R> table(
      "request",
      {
          field("timestamp", &R::timestamp, Real{.min = 0, .max = kArrival.max * 1e3}, "In ms.")
              .required(),
          field_of<R>("input_length", part(&TraceRow::prompt_tokens), kTokens, "").required(),
          field_of<R>("output_length", part(&TraceRow::output_tokens), kAnswer, "").required(),
          field_of<R>("hash_ids", part(&TraceRow::hash_ids), List{Int{.min = 0}}, ""),
      });
  return table;
}

/// A comma, or what stands between the words of a header that has none.
char between_cells(const std::string& header) {
  for (const char c : {',', ';', '\t'}) {
    if (header.find(c) != std::string::npos) return c;
  }
  return ',';
}

/// What public traces call a column: Azure's (TIMESTAMP, ContextTokens, GeneratedTokens),
/// BurstGPT's (Timestamp, Request tokens, Response tokens) and Vidur's (arrived_at,
/// num_prefill_tokens, num_decode_tokens). Blanks in them do not count.
struct OtherName {
  std::string_view other, name;
};
constexpr OtherName kOtherNames[] = {
    {"TIMESTAMP", "arrival_s"},
    {"ContextTokens", "prompt_tokens"},
    {"GeneratedTokens", "output_tokens"},
    {"Timestamp", "arrival_s"},
    {"Requesttokens", "prompt_tokens"},
    {"Responsetokens", "output_tokens"},
    {"arrived_at", "arrival_s"},
    {"num_prefill_tokens", "prompt_tokens"},
    {"num_decode_tokens", "output_tokens"},
};

std::vector<std::string> header_of(std::vector<std::string> header, const std::string& line,
                                   const std::string& file) {
  for (std::string& column : header) {
    std::erase(column, ' ');
    const auto other = std::ranges::find(kOtherNames, column, &OtherName::other);
    if (other != std::end(kOtherNames)) column = other->name;
  }
  std::string missing;
  for (const char* name : {"arrival_s", "prompt_tokens", "output_tokens"}) {
    if (std::ranges::find(header, name) != header.end()) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  if (!missing.empty())
    refuse_trace(file, 1,
                 "a trace whose header, \"" + line.substr(0, 100) + "\", has no " + missing);
  return header;
}

/// Seconds of a day and time such as 2023-11-16 18:17:03.97 (what stands behind is of the zone, the
/// same in all lines) since 1970; far more than any time from a start.
std::optional<double> date_and_time(const std::string& text) {
  if (text.size() < 18 || text[4] != '-') return std::nullopt;
  static const std::regex kForm(
      R"((\d{4})-(\d\d)-(\d\d)[T ]?(\d\d):(\d\d):(\d\d(?:\.\d+)?) ?(?:Z|[+-]\d\d:?\d\d)?)");
  std::smatch m;
  if (!std::regex_match(text, m, kForm)) return std::nullopt;
  const auto part = [&m](std::size_t i) { return *parse_number<int>(m.str(i)); };
  const std::chrono::year_month_day day(std::chrono::year(part(1)),
                                        std::chrono::month(static_cast<unsigned>(part(2))),
                                        std::chrono::day(static_cast<unsigned>(part(3))));
  if (!day.ok()) return std::nullopt;
  const std::chrono::seconds days = std::chrono::sys_days(day).time_since_epoch();
  return static_cast<double>(days.count()) + 3600 * part(4) + 60 * part(5) +
         *parse_number<double>(m.str(6));
}

/// The cells of a line by the names of their columns.
class CsvLine {
 public:
  CsvLine(const std::vector<std::string>& header, const CsvRecord& record, const std::string& file)
      : header_(header), cells_(record.cells), file_(file), line_(record.line) {
    if (cells_.size() != header.size()) {
      refuse_trace(file, line_, "a line with other columns than the first");
    }
  }
  std::string text(const char* name) const {
    const auto it = std::ranges::find(header_, name);
    return it == header_.end() ? "" : cells_[static_cast<std::size_t>(it - header_.begin())];
  }
  std::int64_t value(const char* name, const Int& range) const {
    return within<std::int64_t>(name, range);
  }
  double value(const char* name, const Real& range) const { return within<double>(name, range); }

 private:
  template <class Number, class Range>
  Number within(const char* name, const Range& range) const {
    const auto value = parse_number<Number>(text(name));
    if (value && *value >= range.min && *value <= range.max) return *value;
    refuse_trace(file_, line_,
                 std::string(name) + " is " + (value ? text(name) : "\"" + text(name) + "\"") +
                     ", not " + range.shape().expectation);
  }

  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
  const std::string& file_;
  int line_;
};

TraceRow row_of(const CsvLine& c, int line) {
  TraceRow r;
  const std::optional<double> calendar = date_and_time(c.text("arrival_s"));
  r.arrival_s = calendar ? *calendar : c.value("arrival_s", kArrival);
  r.prompt_tokens = c.value("prompt_tokens", kTokens);
  r.output_tokens = c.value("output_tokens", kAnswer);
  if (const std::string kind = c.text("kind"); !kind.empty()) r.kind = kind;
  r.prefix_id = c.text("prefix_id");
  if (!c.text("prefix_tokens").empty()) r.prefix_tokens = c.value("prefix_tokens", kPrefixTokens);
  r.conversation_id = c.text("conversation_id");
  r.line = line;
  return r;
}

/// Of times by the calendar, or from a start long before, the first is 0.
void begin_at_zero(std::vector<TraceRow>& rows, const std::string& file) {
  const auto [first, last] = std::ranges::minmax_element(rows, {}, &TraceRow::arrival_s);
  if (first == rows.end() || last->arrival_s <= kLongest) return;
  const double begin = first->arrival_s;
  for (TraceRow& r : rows) {
    r.arrival_s -= begin;
    if (r.arrival_s > kLongest)
      refuse_trace(file, r.line, "a trace of more than 100 days, or of days and seconds mixed");
  }
}

std::vector<TraceRow> csv_rows(const std::string& text, const std::string& file) {
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  CsvReader reader(text, between_cells(line));
  CsvRecord record;
  reader.next(record);
  const std::vector<std::string> header = header_of(record.cells, line, file);
  std::vector<TraceRow> rows;
  while (reader.next(record)) {
    if (record.blank()) continue;
    rows.push_back(row_of(CsvLine(header, record, file), record.line));
  }
  return rows;
}

std::vector<TraceRow> rows_of(const JsonDocument& document) {
  std::vector<TraceRow> rows;
  for (const Json* child : document.root().children()) {
    row_table().read(*child, rows.emplace_back());
    rows.back().line = child->where().line;
  }
  return rows;
}

/// A list in which each object that begins a line stands behind a comma.
std::string as_list(const std::string& lines) {
  std::string out = "[";
  bool first = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool begins = lines[i] == '{' && (i == 0 || lines[i - 1] == '\n');
    if (begins && !first) out += ',';
    if (begins) first = false;
    out += lines[i];
  }
  return out + "]";
}

/// Lines of Mooncake's keys, or of the usual ones.
std::vector<TraceRow> json_line_rows(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(as_list(text), file);
  const auto& all = document.root().children();
  if (!all.empty() && all.front()->find("timestamp") == nullptr) return rows_of(document);
  std::vector<TraceRow> rows;
  for (const Json* child : document.root().children()) {
    TimestampRow r;
    mooncake_table().read(*child, r);
    rows.push_back(std::move(r.row));
    rows.back().arrival_s = r.timestamp / 1e3;
    rows.back().line = child->where().line;
  }
  return rows;
}

}  // namespace

void refuse_trace(const std::string& file, int line, const std::string& problem) {
  throw InputError({"R001",
                    problem,
                    {file, line, 1, ""},
                    "arrival_s,prompt_tokens,output_tokens and optionally kind, prefix_id and "
                    "prefix_tokens, conversation_id",
                    "correct the line"});
}

namespace {

std::vector<TraceRow> rows_of(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char sort = first == std::string::npos ? ' ' : text[first];
  if (sort == '[') return rows_of(parse_json(text, file));
  return sort == '{' ? json_line_rows(text, file) : csv_rows(text, file);
}

}  // namespace

std::vector<TraceRow> read_trace_rows(const std::string& text, const std::string& file) {
  constexpr std::string_view kByteOrder = "\xEF\xBB\xBF";  // spreadsheets begin with it
  std::vector<TraceRow> rows =
      rows_of(text.starts_with(kByteOrder) ? text.substr(kByteOrder.size()) : text, file);
  begin_at_zero(rows, file);
  return rows;
}

}  // namespace plait
