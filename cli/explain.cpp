// plait explain CODE: what an error or a warning means, from docs/errors.md: its row in the table
// and, where there is one, its own section.

#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/embedded_file.h"
#include "core/error.h"
#include "core/spelling.h"
#include "core/split.h"
#include "reports/terminal.h"

namespace plait {

std::vector<EmbeddedFile> pages_of_codes();  // docs/errors.md

namespace {

struct CodeText {
  std::string code, family, meaning, section;
};

constexpr std::string_view kAround = " \n*";

/// The rows of the table "| codes | meaning |"; a bold row names the family of those below it.
std::vector<CodeText> table_in(const std::string& page) {
  std::vector<CodeText> out;
  std::string family;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t middle = line.find(" | "), end = line.rfind(" |");
    if (!line.starts_with("| ") || middle == std::string::npos || end <= middle) continue;
    const std::string codes = line.substr(2, middle - 2);
    const std::string meaning = line.substr(middle + 3, end - middle - 3);
    if (codes.starts_with("**")) family = trimmed(meaning, kAround);
    for (const std::string& each : split(codes, ',')) {
      const std::string code(trimmed(each, kAround));
      const bool is_code = code.size() == 4 && code.find_first_of("0123456789") == 1;
      if (is_code) out.push_back({code, family, meaning, ""});
    }
  }
  return out;
}

/// What stands below the heading "### CODE".
std::string section_in(const std::string& page, const std::string& code) {
  const std::string heading = "\n### " + code + "\n";
  const std::size_t begin = page.find(heading);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + heading.size();
  const std::size_t end = std::min(page.find("\n#", from), page.size());
  return std::string(trimmed(std::string_view(page).substr(from, end - from), kAround)) + "\n";
}

/// Paragraphs for a terminal; code and lists stay as they are.
std::string filled(const std::string& section) {
  const int width = OutputOptions{}.style().width;
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    for (const std::string& line : wrap(paragraph, width))
      out += paragraph.empty() ? "" : line + "\n";
    paragraph.clear();
  };
  bool code = false;
  std::istringstream lines(section);
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.starts_with("```");
    const bool as_is =
        code || fence || line.empty() || line.starts_with("|") || line.starts_with("*");
    code = code != fence;
    if (as_is) {
      end_paragraph();
      out += line + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
  return out;
}

std::string text_of(const CodeText& e) {
  const bool warning = e.code.starts_with('W');
  return fmt::format("{}  {}\n      {}{}\n{}{}", e.code, e.meaning, warning ? "" : e.family + ": ",
                     warning ? "a warning: the answer stands, the exit code is as without it"
                             : "an error, exit code 2",
                     e.section.empty() ? "" : "\n", filled(e.section));
}

/// Codes are written in capitals, and typed as they come.
std::string in_capitals(std::string code) {
  for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return code;
}

int explain(const std::string& typed) {
  const std::string code = in_capitals(typed);
  const std::string page(pages_of_codes().front().text);
  std::vector<CodeText> table = table_in(page);
  std::string all;
  std::vector<std::string> known;
  for (CodeText& e : table) {
    known.push_back(e.code);
    if (code.empty()) all += fmt::format("{}  {}\n", e.code, e.meaning);
    if (e.code != code) continue;
    e.section = section_in(page, code);
    print_result({}, text_of(e));
    return kYes;
  }
  if (code.empty()) {
    print_result({}, all);
    return kYes;
  }
  const std::string meant = did_you_mean(code, known, "");
  throw InputError({.code = "G030",
                    .problem = fmt::format("there is no code '{}'", typed),
                    .expected = "a code as messages name it, such as S010",
                    .cure = meant.empty() ? "plait explain lists them all" : meant});
}

}  // namespace

void add_explain(Command& command) {
  auto code = std::make_shared<std::string>();
  Subcommand sub = command.program.subcommand("explain", "Say what an error or warning code means");
  sub.option("code", *code, "The code (default: all of them)").takes("CODE");
  sub.runs([code] { return explain(*code); });
}

}  // namespace plait
