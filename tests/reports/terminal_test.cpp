#include "reports/terminal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plait::terminal_test {

TerminalFacts terminal() {
  TerminalFacts facts;
  facts.is_tty = true;
  facts.term = "xterm";
  return facts;
}

TEST(Terminal, ColorsOnlyATerminal) {
  EXPECT_TRUE(terminal_style(ColorChoice::kAuto, terminal()).color);
  EXPECT_FALSE(terminal_style(ColorChoice::kAuto, {}).color);
}

TEST(Terminal, NoColorSwitchesColorOffUnlessAskedFor) {
  TerminalFacts facts = terminal();
  facts.no_color = "1";
  EXPECT_FALSE(terminal_style(ColorChoice::kAuto, facts).color);
  EXPECT_TRUE(terminal_style(ColorChoice::kAlways, facts).color);
  facts.no_color = "";  // an empty value counts as unset
  EXPECT_TRUE(terminal_style(ColorChoice::kAuto, facts).color);
  EXPECT_FALSE(terminal_style(ColorChoice::kNever, facts).color);
}

TEST(Terminal, ColumnsOverrideTheWindowAndWideWindowsAreNotFilled) {
  TerminalFacts facts = terminal();
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 100);
  facts.window_columns = 90;
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 90);
  facts.columns = "80";
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 80);
  facts.columns = "300";
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 100);
  facts.columns = "nonsense";
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 90);
  facts.columns = "1";
  EXPECT_EQ(terminal_style(ColorChoice::kAuto, facts).width, 40);
}

TEST(Terminal, BlockCharactersNeedAUtf8Locale) {
  TerminalFacts facts;
  EXPECT_FALSE(terminal_style(ColorChoice::kAuto, facts).unicode);
  facts.locale = "de_DE.UTF-8";
  EXPECT_TRUE(terminal_style(ColorChoice::kAuto, facts).unicode);
  facts.locale = "C";
  EXPECT_FALSE(terminal_style(ColorChoice::kAuto, facts).unicode);
}

TEST(Terminal, ABarIsAsLongAsItsFraction) {
  EXPECT_EQ(bar(0, 10), "");
  EXPECT_EQ(display_width(bar(1, 10)), 10);
  EXPECT_EQ(bar(0.25, 4), "█");
  EXPECT_EQ(bar(1.0 / 8, 1), "▏");
  EXPECT_EQ(display_width(bar(7, 10)), 10);  // more than all is all
  EXPECT_EQ(bar(std::nan(""), 10), "");
}

TEST(Terminal, LinesThatAreTooWideAreBrokenAtSpacesAndLoseNothing) {
  EXPECT_EQ(render({{{"abcdef"}}}, {6, false, true}), "abcdef\n");
  EXPECT_EQ(render({{{"one two"}, {" three"}}}, {10, false, true}), "one two\n  three\n");
  // Below what stands beside the first word.
  EXPECT_EQ(render({{{"step  one two three"}}}, {13, false, true}), "step  one two\n      three\n");
}

TEST(Terminal, AWordThatIsTooWideGoesOnInTheNextLine) {
  EXPECT_EQ(render({{{"abc"}, {"defg"}}}, {6, false, true}), "abcdef\n  g\n");
  EXPECT_EQ(render({{{"ééééééé"}}}, {6, false, true}), "éééééé\n  é\n");
}

TEST(Terminal, ColoursEndWithTheirLine) {
  EXPECT_EQ(render({{{"ab cd", Ink::kBold}}}, {4, true, true}),
            "\x1b[1mab\x1b[0m\n  \x1b[1mcd\x1b[0m\n");
}

TEST(Terminal, WrapKeepsWordsWhole) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("extraordinarily long", 5), (std::vector<std::string>{"extraordinarily", "long"}));
  EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
}

}  // namespace plait::terminal_test
