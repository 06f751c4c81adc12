#include "reports/terminal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace plait {
namespace {

constexpr int kWidest = 100, kNarrowest = 40;

/// What stands for the characters that the reports use where only ASCII can be shown.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kAscii = {{{"█", "#"},
                                                                                   {"▉", "#"},
                                                                                   {"▊", "#"},
                                                                                   {"▋", "#"},
                                                                                   {"▌", "#"},
                                                                                   {"▍", " "},
                                                                                   {"▎", " "},
                                                                                   {"▏", " "},
                                                                                   {"─", "-"},
                                                                                   {"±", "~"},
                                                                                   {"×", "x"},
                                                                                   {"…", "~"}}};

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The bytes of the code point that starts at `i`.
std::string_view code_point(std::string_view text, std::size_t i) {
  std::size_t n = 1;
  while (i + n < text.size() && continues(text[i + n])) ++n;
  return text.substr(i, n);
}

std::string_view shown(std::string_view glyph, bool unicode) {
  const auto first = static_cast<unsigned char>(glyph[0]);
  if (first < 0x20 || first == 0x7F) return "?";
  if (first < 0x80) return glyph;
  // U+0080 to U+009F are control characters too.
  const bool c1 = first == 0xC2 && glyph.size() > 1 && static_cast<unsigned char>(glyph[1]) < 0xA0;
  if (c1 || continues(glyph[0])) return "?";
  if (unicode) return glyph;
  for (const auto& [from, to] : kAscii) {
    if (glyph == from) return to;
  }
  return "?";
}

std::string_view color_code(Ink ink) {
  switch (ink) {
    case Ink::kPlain: return "";
    case Ink::kBold: return "\x1b[1m";
    case Ink::kDim: return "\x1b[2m";
    case Ink::kGood: return "\x1b[1;32m";
    case Ink::kBad: return "\x1b[1;31m";
    case Ink::kBar: return "\x1b[36m";
  }
  return "";
}

/// One column of a line, as it is shown.
struct Cell {
  std::string_view glyph;
  Ink ink = Ink::kPlain;
  bool blank() const { return glyph == " "; }
};
using Cells = std::vector<Cell>;

Cells cells_of(const Line& line, bool unicode) {
  Cells out;
  for (const Span& s : line) {
    const std::string_view text = s.text;
    for (std::size_t i = 0; i < text.size();) {
      const std::string_view glyph = code_point(text, i);
      out.push_back({shown(glyph, unicode), s.ink});
      i += glyph.size();
    }
  }
  return out;
}

/// Where a line goes on that was broken: below what stands beside its first word ("step    15 s"),
/// or a little further in than it began.
std::size_t hanging_indent(const Cells& cells, std::size_t width) {
  std::size_t begin = 0;
  while (begin < cells.size() && cells[begin].blank()) ++begin;
  for (std::size_t i = begin; i + 2 < cells.size() && i < width / 2; ++i) {
    if (cells[i].blank() && cells[i + 1].blank()) {
      while (i < cells.size() && cells[i].blank()) ++i;
      if (i <= width / 2) return i;
      break;
    }
  }
  return std::min(begin, width / 2) + 2;
}

/// The end of the part from `begin` that fits: at a space, where there is one.
std::size_t part_end(const Cells& cells, std::size_t begin, std::size_t room) {
  if (cells.size() - begin <= room) return cells.size();
  std::size_t first = begin;
  while (first < cells.size() && cells[first].blank()) ++first;
  for (std::size_t end = begin + room; end > first; --end) {
    if (cells[end].blank()) return end;
  }
  return begin + room;
}

std::string colored(const Cells& cells, std::size_t begin, std::size_t end, bool color) {
  std::string out;
  Ink now = Ink::kPlain;
  for (std::size_t i = begin; i < end; ++i) {
    if (color && cells[i].ink != now) {
      if (now != Ink::kPlain) out += "\x1b[0m";
      now = cells[i].ink;
      out += color_code(now);
    }
    out += cells[i].glyph;
  }
  if (now != Ink::kPlain) out += "\x1b[0m";
  if (!color) out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string render_line(const Line& line, const TerminalStyle& style) {
  const Cells cells = cells_of(line, style.unicode);
  const auto width = static_cast<std::size_t>(style.width);
  const std::size_t hang = cells.size() > width ? hanging_indent(cells, width) : 0;
  std::string out;
  std::size_t begin = 0, indent = 0;
  do {
    const std::size_t end = part_end(cells, begin, width - indent);
    out += std::string(indent, ' ') + colored(cells, begin, end, style.color) + "\n";
    begin = end, indent = hang;
    while (begin < cells.size() && cells[begin].blank()) ++begin;
  } while (begin < cells.size());
  return out;
}

bool says_utf8(const std::optional<std::string>& locale) {
  if (!locale) return false;
  std::string lower = *locale;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

int positive_number(const std::optional<std::string>& text) {
  if (!text || text->empty() || text->size() > 5) return 0;
  if (!std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return 0;
  }
  return std::atoi(text->c_str());
}

}  // namespace

void append(std::vector<Line>& to, std::vector<Line> lines) {
  for (Line& l : lines) to.push_back(std::move(l));
}

TerminalStyle terminal_style(ColorChoice choice, const TerminalFacts& facts) {
  TerminalStyle style;
  const bool no_color = facts.no_color.has_value() && !facts.no_color->empty();
  const bool dumb = facts.term == "dumb";
  style.color = choice == ColorChoice::kAlways ||
                (choice == ColorChoice::kAuto && facts.is_tty && !no_color && !dumb);
  style.unicode = says_utf8(facts.locale);
  int width = positive_number(facts.columns);
  if (width == 0) width = facts.window_columns;
  if (width == 0) width = kWidest;
  style.width = std::clamp(width, kNarrowest, kWidest);
  return style;
}

int display_width(std::string_view text) {
  int columns = 0;
  for (std::size_t i = 0; i < text.size(); i += code_point(text, i).size()) ++columns;
  return columns;
}

std::string pad_right(std::string text, int width) {
  const int missing = width - display_width(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

std::string pad_left(std::string text, int width) {
  const int missing = width - display_width(text);
  if (missing > 0) text.insert(0, static_cast<std::size_t>(missing), ' ');
  return text;
}

std::string bar(double fraction, int cells) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (cells <= 0 || !std::isfinite(fraction)) return "";
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const auto eighths = static_cast<std::size_t>(std::lround(clamped * cells * 8));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out += kEighths[eighths % 8];
}

std::vector<std::string> wrap(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find(' ', i);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(i, end - i);
    i = end + 1;
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (display_width(line) + 1 + display_width(word) <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string render(const std::vector<Line>& lines, const TerminalStyle& style) {
  std::string out;
  for (const Line& line : lines) out += render_line(line, style);
  return out;
}

}  // namespace plait
