#include "serving/trace_rows.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/fields.h"
#include "core/time.h"

namespace plait {
namespace {

constexpr Int kTokens{.min = 1, .max = 1 << 28};
constexpr Int kPrefixTokens{.min = 0, .max = kTokens.max};
constexpr Real kArrival{.min = 0, .max = to_seconds(kLongestTime).value};

const Table<TraceRow>& row_table() {
  using R = TraceRow;
  static const Table<R> table(
      "request", {
                     field("arrival_s", &R::arrival_s, kArrival, "Since the start.").required(),
                     field("prompt_tokens", &R::prompt_tokens, kTokens, "").required(),
                     field("output_tokens", &R::output_tokens, kTokens, "").required(),
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
          field_of<R>("output_length", part(&TraceRow::output_tokens), kTokens, "").required(),
          field_of<R>("hash_ids", part(&TraceRow::hash_ids), List{Int{.min = 0}}, ""),
      });
  return table;
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != '\r' && c != ' ' && c != '"') {
      out.back() += c;
    }
  }
  return out;
}

template <class Number>
Number number(const std::string& text, const std::string& file, int line) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse_trace(file, line, "\"" + text + "\" is no number");
  }
  return value;
}

/// The cells of a line by the names of their columns.
class CsvLine {
 public:
  CsvLine(const std::vector<std::string>& header, std::vector<std::string> cells,
          const std::string& file, int line)
      : header_(header), cells_(std::move(cells)), file_(file), line_(line) {
    if (cells_.size() != header.size()) {
      refuse_trace(file, line, "a line with other columns than the first");
    }
  }
  std::string text(const char* name) const {
    const auto it = std::ranges::find(header_, name);
    return it == header_.end() ? "" : cells_[static_cast<std::size_t>(it - header_.begin())];
  }
  std::int64_t value(const char* name, const Int& range) const {
    return within(number<std::int64_t>(text(name), file_, line_), name, range);
  }
  double value(const char* name, const Real& range) const {
    return within(number<double>(text(name), file_, line_), name, range);
  }

 private:
  template <class Number, class Range>
  Number within(Number value, const char* name, const Range& range) const {
    if (value >= range.min && value <= range.max) return value;
    refuse_trace(file_, line_,
                 std::string(name) + " is " + text(name) + ", not " + range.shape().expectation);
  }

  const std::vector<std::string>& header_;
  std::vector<std::string> cells_;
  const std::string& file_;
  int line_;
};

TraceRow row_of(const CsvLine& c, int line) {
  TraceRow r;
  r.arrival_s = c.value("arrival_s", kArrival);
  r.prompt_tokens = c.value("prompt_tokens", kTokens);
  r.output_tokens = c.value("output_tokens", kTokens);
  if (const std::string kind = c.text("kind"); !kind.empty()) r.kind = kind;
  r.prefix_id = c.text("prefix_id");
  if (!c.text("prefix_tokens").empty()) r.prefix_tokens = c.value("prefix_tokens", kPrefixTokens);
  r.conversation_id = c.text("conversation_id");
  r.line = line;
  return r;
}

std::vector<TraceRow> csv_rows(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> header = cells(line);
  for (const char* name : {"arrival_s", "prompt_tokens", "output_tokens"}) {
    if (std::ranges::find(header, name) != header.end()) continue;
    refuse_trace(file, 1, "a trace whose header names no arrival, prompt or output");
  }
  std::vector<TraceRow> rows;
  for (int n = 2; std::getline(in, line); ++n) {
    std::vector<std::string> c = cells(line);
    if (c.size() == 1 && c[0].empty()) continue;
    rows.push_back(row_of(CsvLine(header, std::move(c), file, n), n));
  }
  return rows;
}

std::vector<TraceRow> json_rows(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
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

std::vector<TraceRow> mooncake_rows(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(as_list(text), file);
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

std::vector<TraceRow> read_trace_rows(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char sort = first == std::string::npos ? ' ' : text[first];
  return sort == '['   ? json_rows(text, file)
         : sort == '{' ? mooncake_rows(text, file)
                       : csv_rows(text, file);
}

}  // namespace plait
