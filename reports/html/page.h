#pragma once
// A result as one HTML file: a shell of HTML, CSS and JavaScript (reports/html/page/, part of the
// program) and one JSON document in it, from which the script draws all that is shown:
//
//   {"kind": "run",            which sections the page has
//    "title": ..., "command": ..., "version": ...,
//    "result": {...},          what --format json prints, unchanged
//    "scenario": {...},        resolved; absent where there are several
//    "timelines": [...], "memory": [...], "machine": "<svg ...>", ...}    for pictures
//
// The page loads nothing and sends nothing: its content-security policy allows its own script and
// style by their SHA-256 and nothing else. It can be read back.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// One key of the document; `json` is its text.
struct PageItem {
  std::string key, json;
};

struct Page {
  std::string kind;  // the subcommand; "serve_compare" of `serve` with several candidates
  std::string title;
  std::string command;   // to make the page again
  std::string version;   // of the program
  std::string result;    // JSON
  std::string scenario;  // canonical JSON; "": none, or several
  std::vector<PageItem> pictures;
};

/// The whole file.
std::string to_html(const Page& page);

/// The document in a page that to_html wrote; nothing in any other text.
std::optional<std::string> document_of_html(std::string_view html);

/// What other commands want of a page that is read back.
struct StoredPage {
  std::string kind;
  std::string result;                  // JSON
  std::vector<std::string> timelines;  // JSON, each
  std::string memory;                  // JSON, of the ranks of one prediction; "": none
};
/// Nothing when `html` is no page; what was damaged since it was written is missing.
std::optional<StoredPage> page_of_html(std::string_view html);

}  // namespace plait
