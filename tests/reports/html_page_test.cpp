#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/sha256.h"
#include "reports/html/page.h"
#include "reports/json.h"
#include "reports/stored_report.h"
#include "tests/reports/made_up.h"

namespace plait::html_page_test {

/// Every text of a page is hostile.
Page hostile() {
  const std::string bad = "</script><script>alert(1)</script><!-- <script> & \" ' \xff @style@";
  Page page{"run", bad, bad, "1.0", "", "", {}};
  page.result = nlohmann::json{{"scenario", bad.substr(0, 40)}, {"step_time_s", 0.25}}.dump();
  page.pictures.push_back({"machine", R"("<svg></svg>")"});
  return page;
}

TEST(Page, TheDocumentReadsBackAndHoldsTheResultUnchanged) {
  const MadeUp m;
  const std::string result = to_json(summarize(m.inputs()));
  Page page{"run", "tiny", "plait run tiny.json", "1.0", result, R"({"name":"tiny"})", {}};
  const auto document = document_of_html(to_html(page));
  ASSERT_TRUE(document.has_value());
  const auto tree = nlohmann::ordered_json::parse(*document);
  EXPECT_EQ(tree["kind"], "run");
  EXPECT_EQ(tree["result"].dump(2) + "\n", result);
  EXPECT_EQ(tree["scenario"]["name"], "tiny");
}

TEST(Page, NoTextEndsTheDocumentOrOpensATag) {
  const std::string html = to_html(hostile());
  const auto document = document_of_html(html);
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->find('<'), std::string::npos);
  const auto tree = nlohmann::json::parse(*document);
  EXPECT_EQ(tree["result"]["step_time_s"], 0.25);
  EXPECT_EQ(tree["machine"], "<svg></svg>");
  const std::size_t title = html.find("<title>");
  EXPECT_EQ(html.substr(title, html.find("</title>") - title).find("<script"), std::string::npos);
}

/// The text between the last `open` and the `close` after it.
std::string between(const std::string& html, const std::string& open, const std::string& close) {
  const std::size_t begin = html.rfind(open) + open.size();
  return html.substr(begin, html.find(close, begin) - begin);
}

std::string hex_of_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string hex;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = (bits << 6U | static_cast<unsigned>(digits.find(c))) & 0xffffU;
    held += 6;
    for (; held >= 4; held -= 4) hex += "0123456789abcdef"[bits >> (held - 4) & 15U];
  }
  return hex.substr(0, 64);
}

TEST(Page, ThePolicyAllowsExactlyThisScriptAndThisStyle) {
  const std::string html = to_html(hostile());
  const std::string policy =
      between(html, R"(http-equiv="Content-Security-Policy" content=")", "\"");
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_TRUE(policy.starts_with("default-src 'none';"));
  const auto allowed = [&](const std::string& kind) {
    return hex_of_base64(between(policy, kind + " 'sha256-", "'"));
  };
  EXPECT_EQ(allowed("script-src"), sha256(between(html, "<script>", "</script>")));
  EXPECT_EQ(allowed("style-src"), sha256(between(html, "<style>", "</style>")));
}

TEST(Page, TheShellIsUnder400KB) {
  const Page empty{"run", "", "", "", "{}", "", {}};
  EXPECT_LT(to_html(empty).size(), 400'000U);
}

TEST(Page, OtherTextsAreNoPages) {
  EXPECT_FALSE(document_of_html("{\"step_time_s\": 1}").has_value());
  EXPECT_FALSE(document_of_html("").has_value());
  EXPECT_FALSE(
      document_of_html(R"(<script type="application/json" id="plait-document">{)").has_value());
}

TEST(Page, ResultAndTimelinesAreReadBack) {
  const std::string result = R"({"step_time_s":2,"breakdown":{},"world_size":1})";
  Page page{"run", "", "", "", result, "", {{"timelines", R"([{"label":"a"}])"}}};
  const auto stored = page_of_html(to_html(page));
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->kind, "run");
  EXPECT_EQ(report_from_json(stored->result)->step_time_s, 2);
  EXPECT_EQ(stored->timelines, std::vector<std::string>{R"({"label":"a"})"});
}

TEST(Page, WhatIsDamagedIsMissing) {
  const std::string tag = R"(<script type="application/json" id="plait-document">)";
  for (const char* document : {"", "[1]", "{", R"({"kind":3,"result":[],"timelines":7})"}) {
    const auto stored = page_of_html(tag + document + "</script>");
    ASSERT_TRUE(stored.has_value()) << document;
    EXPECT_EQ(stored->kind, "");
    EXPECT_TRUE(stored->timelines.empty());
    EXPECT_FALSE(report_from_json(stored->result).has_value());
  }
}

}  // namespace plait::html_page_test
