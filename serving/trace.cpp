// Requests as a file says: CSV with a header, or a JSON list of objects with the same keys.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/fields.h"
#include "serving/requests.h"

namespace plait {
namespace {

struct TraceRow {
  double arrival_s = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::string kind = "all";
};

const Table<TraceRow>& row_table() {
  using R = TraceRow;
  static const Table<R> table(
      "request",
      {
          field("arrival_s", &R::arrival_s, Real{.min = 0, .max = 1e7}, "Since the start.")
              .required(),
          field("prompt_tokens", &R::prompt_tokens, Int{.max = 1 << 28}, "").required(),
          field("output_tokens", &R::output_tokens, Int{.max = 1 << 28}, "").required(),
          field("kind", &R::kind, Text{}, ""),
      });
  return table;
}

[[noreturn]] void refuse_line(const std::string& file, int line, const std::string& problem) {
  throw InputError({"R001",
                    problem,
                    {file, line, 1, ""},
                    "arrival_s,prompt_tokens,output_tokens and optionally kind",
                    "correct the line"});
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
    refuse_line(file, line, "\"" + text + "\" is no number");
  }
  return value;
}

std::vector<TraceRow> csv_rows(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> header = cells(line);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  const std::size_t arrival = column("arrival_s"), prompt = column("prompt_tokens"),
                    output = column("output_tokens"), kind = column("kind");
  if (std::max({arrival, prompt, output}) >= header.size()) {
    refuse_line(file, 1, "a trace whose header names no arrival, prompt or output");
  }
  std::vector<TraceRow> rows;
  for (int n = 2; std::getline(in, line); ++n) {
    const std::vector<std::string> c = cells(line);
    if (c.size() == 1 && c[0].empty()) continue;
    if (c.size() != header.size()) refuse_line(file, n, "a line with other columns than the first");
    rows.push_back({number<double>(c[arrival], file, n), number<std::int64_t>(c[prompt], file, n),
                    number<std::int64_t>(c[output], file, n), kind < c.size() ? c[kind] : "all"});
    const TraceRow& r = rows.back();
    const bool sound =
        r.arrival_s >= 0 && r.arrival_s <= 1e7 && r.prompt_tokens > 0 && r.output_tokens > 0;
    if (!sound) refuse_line(file, n, "a request without tokens, or before the start");
  }
  return rows;
}

std::vector<TraceRow> json_rows(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  std::vector<TraceRow> rows;
  List{Nested{&row_table()}}.read(document.root(), rows);
  return rows;
}

std::size_t kind_of(const std::string& name, std::vector<RequestKind>& kinds) {
  const auto found = std::ranges::find(kinds, name, &RequestKind::name);
  if (found != kinds.end()) return static_cast<std::size_t>(found - kinds.begin());
  kinds.push_back({});
  kinds.back().name = name;
  return kinds.size() - 1;
}

}  // namespace

std::vector<Request> read_trace(const std::string& text, const std::string& file, Load& load) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '[';
  load.kinds.clear();
  std::vector<Request> out;
  for (const TraceRow& r : is_json ? json_rows(text, file) : csv_rows(text, file)) {
    out.push_back({to_sim_time(Seconds(r.arrival_s)), r.prompt_tokens, r.output_tokens,
                   kind_of(r.kind, load.kinds)});
  }
  if (out.empty()) refuse_line(file, 1, "a trace without requests");
  std::ranges::stable_sort(out, {}, &Request::arrival);
  return out;
}

}  // namespace plait
