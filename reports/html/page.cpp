#include "reports/html/page.h"

#include <array>
#include <nlohmann/json.hpp>

#include "core/embedded_file.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "reports/json_tree.h"

namespace plait {

std::vector<EmbeddedFile> page_files();  // reports/html/page/: the scripts share one scope, in
                                         // which `start` is called last
namespace {

constexpr std::string_view kDocumentTag = R"(<script type="application/json" id="plait-document">)";
constexpr std::string_view kEndTag = "</script>";

/// All files whose names end with `suffix`, one after the other.
std::string joined(std::string_view suffix) {
  std::string out;
  for (const EmbeddedFile& file : page_files()) {
    if (file.path.ends_with(suffix)) out += file.text;
  }
  return out;
}

std::string base64(const std::vector<unsigned char>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (i + k < bytes.size() ? bytes[i + k] : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

/// As a content-security policy names an inline script or style (CSP Level 3, section 2.3.1).
std::string csp_hash(const std::string& text) {
  const std::string hex = sha256(text);
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return "'sha256-" + base64(bytes) + "'";
}

std::string policy(const std::string& script, const std::string& style) {
  return "default-src 'none'; script-src " + csp_hash(script) + "; style-src " + csp_hash(style) +
         "; base-uri 'none'; form-action 'none'";
}

/// In a script element only "<" could end it or open a comment; JSON has it in texts only.
std::string without_tags(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string document(const Page& page) {
  std::string out = "{\"kind\":" + json_quote(page.kind) + ",\"title\":" + json_quote(page.title) +
                    ",\"command\":" + json_quote(page.command) +
                    ",\"version\":" + json_quote(page.version) + ",\n\"result\":" + page.result;
  if (!page.scenario.empty()) out += ",\n\"scenario\":" + page.scenario;
  for (const PageItem& item : page.pictures) out += ",\n\"" + item.key + "\":" + item.json;
  return without_tags(out + "}\n");
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string to_html(const Page& page) {
  const std::string style = joined(".css"),
                    script = "'use strict';\n(() => {\n" + joined(".js") + "start();\n})();\n";
  const std::vector<PageItem> fields = {{"policy", policy(script, style)},
                                        {"title", html_text(page.title)},
                                        {"style", style},
                                        {"document", document(page)},
                                        {"script", script}};
  const std::string shell = joined(".html");
  std::string out;
  std::size_t at = 0;
  for (const PageItem& field : fields) {
    const std::string mark = "@" + field.key + "@";
    const std::size_t found = shell.find(mark, at);
    PLAIT_CHECK(found != std::string::npos, "the shell of a page has " + mark);
    out += shell.substr(at, found - at) + field.json;
    at = found + mark.size();
  }
  return out + shell.substr(at);
}

std::optional<std::string> document_of_html(std::string_view html) {
  const std::size_t tag = html.find(kDocumentTag);
  if (tag == std::string_view::npos) return std::nullopt;
  const std::size_t begin = tag + kDocumentTag.size();
  const std::size_t end = html.find(kEndTag, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(html.substr(begin, end - begin));
}

std::optional<StoredPage> page_of_html(std::string_view html) {
  const std::optional<std::string> text = document_of_html(html);
  if (!text) return std::nullopt;
  const auto tree = nlohmann::ordered_json::parse(*text, nullptr, false);
  StoredPage page;
  if (!tree.is_object()) return page;
  if (tree.contains("kind") && tree["kind"].is_string()) page.kind = tree["kind"];
  if (tree.contains("result")) page.result = json_text(tree["result"]);
  if (tree.contains("timelines")) {
    for (const auto& timeline : tree["timelines"]) {
      if (timeline.is_object()) page.timelines.push_back(timeline.dump());
    }
  }
  if (tree.contains("memory") && tree["memory"].is_array()) page.memory = tree["memory"].dump();
  return page;
}

}  // namespace plait
