#include "reports/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/reports/made_up.h"

namespace plait::text_test {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// A report whose every part is long.
Report crowded() {
  MadeUp m;
  m.model.name = std::string(200, 'n');
  m.plan.tensors[0].name = "layer.attention.a.very.long.tensor.name.that.never.ends";
  Report r = m.report();
  r.breakdown.clear();
  for (int i = 0; i < 20; ++i) {
    r.breakdown.push_back({"exposed_communication", "axis" + std::to_string(i), 1e-7, 0.05});
  }
  r.layout =
      "tp 8, pp 16, dp 128, interleaved 1f1b with 8 chunks, sequence parallel, zero 1, "
      "selective recompute, and more that does not fit on one line of a narrow terminal";
  return r;
}

TEST(Text, NoLineIsWiderThanTheWindow) {
  for (const int width : {100, 80, 40}) {
    for (const Report& r : {MadeUp().report(), crowded()}) {
      for (const std::string& line : lines_of(to_text(r, {width, false, true}))) {
        EXPECT_LE(display_width(line), width) << line;
      }
    }
  }
}

TEST(Text, TheUsualReportIsCutNowhere) {
  for (const int width : {100, 80}) {
    EXPECT_EQ(to_text(MadeUp().report(), {width, false, true}).find("…"), std::string::npos);
  }
}

TEST(Text, FitsOnOneScreen) {
  EXPECT_LE(lines_of(to_text(crowded(), {100, false, true})).size(), 50U);
}

TEST(Text, TheVerdictComesBeforeEveryOtherNumber) {
  const std::string text = to_text(MadeUp().report(), {});
  const std::size_t verdict = text.find("FITS");
  ASSERT_NE(verdict, std::string::npos);
  for (const char* later : {"tokens/s", "MFU", "matmul", "memory of rank"}) {
    EXPECT_LT(verdict, text.find(later)) << later;
  }
}

TEST(Text, NamesTheDensePeakBesideMfuAndHfu) {
  const std::string text = to_text(MadeUp().report(), {});
  EXPECT_NE(text.find("MFU      50.0 %   HFU 50.0 %   of the dense bf16 peak, 1000 TFLOP/s"),
            std::string::npos)
      << text;
}

TEST(Text, SaysHowMfuCanBeAboveAllThatThereIs) {
  Report r = MadeUp().report();
  EXPECT_EQ(to_text(r, {}).find("above 100 %"), std::string::npos);
  r.mfu = 1.18;
  EXPECT_NE(to_text(r, {}).find("above 100 %: counts the whole square of causal attention"),
            std::string::npos);
}

/// A processor's few TFLOP/s, whose quotient is the MFU beside them.
TEST(Text, SlowDevicesHaveThreeDigitsToo) {
  Report r = MadeUp().report();
  r.model_tflops_per_gpu = 3.294, r.peak_flops_per_gpu_tflops = 5.12;
  const std::string text = to_text(r, {});
  EXPECT_NE(text.find("3.29 per GPU for the model"), std::string::npos) << text;
  EXPECT_NE(text.find("peak, 5.12 TFLOP/s"), std::string::npos) << text;
}

TEST(Text, CollectivesThatReadTheSameStandInOneLine) {
  Report r = MadeUp().report();
  ASSERT_EQ(r.collectives.size(), 1U);
  CollectiveLine c = r.collectives[0];
  c.bytes = std::int64_t{1} << 30, c.calls = 3, c.time_s = 5.2e-3;
  CollectiveLine nearly = c, larger = c;
  nearly.bytes += 1000, nearly.time_s += 1e-7, nearly.calls = 4;
  larger.bytes *= 2;
  r.collectives = {c, nearly, larger};
  const std::string text = to_text(r, {});
  EXPECT_NE(text.find("7 x 5.20 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("3 x 5.20 ms"), std::string::npos) << text;
  EXPECT_EQ(text.find("4 x 5.20 ms"), std::string::npos) << text;
}

TEST(Text, AMisfitSaysWhatIsBiggestAndByHowMuchItIsOver) {
  MadeUp m;
  m.cluster.device.memory = Bytes(700);
  const std::string text = to_text(m.report(), {});
  EXPECT_NE(text.find("DOES NOT FIT"), std::string::npos);
  EXPECT_NE(text.find("50 B too much; the biggest item: activations, 300 B"), std::string::npos);
}

TEST(Text, SaysWhatWouldHelpMost) {
  const std::string text = to_text(MadeUp().report(), {});
  const std::size_t first = text.find("10 % more peak FLOP/s:");
  const std::size_t second = text.find("10 % less launch overhead:");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
  EXPECT_NE(text.find("-3.3 % step time"), std::string::npos);
}

TEST(Text, AsciiMeansAscii) {
  const std::string text = to_text(crowded(), {80, false, false});
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(Text, ColorChangesNothingButColor) {
  const std::string plain = to_text(MadeUp().report(), {100, false, true});
  std::string colored = to_text(MadeUp().report(), {100, true, true});
  EXPECT_NE(colored, plain);
  for (std::size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  std::string trimmed;
  for (std::string& line : lines_of(colored)) {
    line.erase(line.find_last_not_of(' ') + 1);
    trimmed += line + "\n";
  }
  EXPECT_EQ(trimmed, plain);
}

TEST(Text, ANameCannotCommandTheTerminal) {
  Report r = MadeUp().report();
  r.run.scenario = "evil\x1b[2Jname";
  EXPECT_EQ(to_text(r, {100, false, true}).find('\x1b'), std::string::npos);
}

TEST(Text, WithoutStagesRanksWaitAndThereIsNoBubble) {
  Report r = MadeUp().report();
  EXPECT_NE(to_text(r, {}).find("  bubble  "), std::string::npos);
  r.mesh[Axis::kPp] = 1;
  EXPECT_NE(to_text(r, {}).find("  waiting for other ranks  "), std::string::npos);
  EXPECT_EQ(to_text(r, {}).find("bubble"), std::string::npos);
}

}  // namespace plait::text_test
