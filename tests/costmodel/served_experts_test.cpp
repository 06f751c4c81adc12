// The experts of serving steps by vLLM's kernels: AIConfigurator's moe_perf tables.
//   PLAIT_DATA=... costmodel_test --gtest_filter='ServedExperts.*'
// prints the errors of what was not fitted.

#include "costmodel/served_experts.h"

#include <gtest/gtest.h>

#include "core/quantity.h"
#include "costmodel/costmodel.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/fit/served_experts.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait::served_experts_test {

/// One kernel of a table.
struct Set {
  MeasuredMachine machine;
  std::string kernel, type;  // of the table; empty: it names none
  DType in = DType::kBf16;
  WeightFormat weights = WeightFormat::kPlain;
  bool balanced = true;  // every expert has as many tokens; else by a power law
  Fusion scales = Fusion::kFused;
};
/// The constants of its kernel.
const TiledGemm& committed_of(const Set& set, const MatMul& product) {
  return *served_experts(product, set.machine.device, set.scales);
}
std::vector<Set> sets() {
  const std::vector<MeasuredMachine> m = machines();
  constexpr auto kMxfp4 = WeightFormat::kMxfp4;
  return {
      {.machine = m[0], .kernel = "", .type = "", .balanced = false},
      {m[1], "tritonexperts", "bfloat16"},
      {.machine = m[1],
       .kernel = "tritonexperts",
       .type = "fp8_block",
       .in = DType::kFp8,
       .scales = Fusion::kBlocks},
      {m[1], "oaitritonmxfp4expertsmonolithic", "w4a16_mxfp4", DType::kBf16, kMxfp4},
      {m[2], "trtllmbf16experts", "bfloat16"},
      {.machine = m[2],
       .kernel = "trtllmfp8expertsmonolithic",
       .type = "fp8_block",
       .in = DType::kFp8,
       .scales = Fusion::kBlocks},
      {m[2], "trtllmfp8expertsmonolithic", "fp8", DType::kFp8},
      {m[2], "trtllmmxfp4expertsmonolithic", "w4a16_mxfp4", DType::kBf16, kMxfp4},
      {m[2], "trtllmnvfp4expertsmonolithic", "nvfp4", DType::kNvfp4},
  };
}

std::string text_of(const Record& r, const char* field) {
  const auto found = r.find(field);
  return found == r.end() ? "" : found->second;
}

struct Measured {
  ExpertsRow row;
  bool held_out;
  double rows_each;  // of an expert
};

/// Of all experts on one device. By a power law the experts with most tokens count where there are
/// a few for each, more than those that have none: such rows are left out.
std::optional<Measured> measured(const Record& r, const Set& set) {
  const std::string distribution = set.balanced ? "balanced" : "power_law_1.01";
  if (r.at("moe_ep_size") != "1" || r.at("distribution") != distribution) return std::nullopt;
  if (!text_of(r, "kernel_source").ends_with(set.kernel)) return std::nullopt;
  if (text_of(r, "moe_dtype") != set.type) return std::nullopt;
  const std::int64_t tokens = std::stoll(r.at("num_tokens")), h = std::stoll(r.at("hidden_size")),
                     experts = std::stoll(r.at("num_experts")), k = std::stoll(r.at("topk")),
                     width = std::stoll(r.at("inter_size")) / std::stoll(r.at("moe_tp_size"));
  const double each = static_cast<double>(tokens * k) / static_cast<double>(experts);
  if (!set.balanced && each >= 1 && each < 8) return std::nullopt;
  const std::int64_t met = std::min(experts, tokens * k), slots = ceil_div(tokens * k, met);
  MatMul up{.batch = met, .m = slots, .n = 2 * width, .k = h, .in = set.in};
  up.out = DType::kBf16, up.weights = set.weights, up.served = true;
  MatMul down = up;
  down.n = h, down.k = width;
  Measured out;
  out.row.ops = {Dispatch{.rows = tokens, .width = h, .chosen = k, .slots = met * slots}, up,
                 Activation{.rows = met * slots, .width = width}, down,
                 Combine{.rows = tokens, .width = h, .chosen = k, .slots = met * slots}};
  if (set.in != DType::kBf16) {
    Cast cast{.from = DType::kBf16, .to = set.in};
    cast.alone = set.in == DType::kFp8, cast.scaled = set.in == DType::kNvfp4;
    for (const std::int64_t inputs : {h, width}) {
      cast.elements = met * slots * inputs;
      out.row.ops.emplace_back(cast);
    }
  }
  out.row.time = Seconds(std::stod(r.at("latency_us")) * 1e-6);
  out.held_out = is_held_out(width * 131 + experts, h * 17 + k);
  out.rows_each = each;
  return out;
}

std::vector<Measured> rows_of(const Set& set, const std::filesystem::path& kernels) {
  std::vector<Measured> out;
  for (const auto& table : tables(kernels / "aiconfigurator" / set.machine.folder, "moe_perf")) {
    for (const Record& r : read_table(table)) {
      if (const auto row = measured(r, set)) out.push_back(*row);
    }
  }
  return out;
}

const MatMul& product_of(const ExpertsRow& row) { return std::get<MatMul>(row.ops[1]); }

// In the order of the struct and with as many digits as are committed.
std::string text(const TiledGemm& f) {
  return fmt::format(
      "{{{:.3f}, {:.3f}, {:.0f}, {:.3f}, 0, 1, {{{:.3f}, {:.3f}, {:.3f}, {:.3f}}}, 0.001, {:.2f}}}",
      f.flops, f.bandwidth, f.prologue, f.whole_waves, f.tile[0], f.tile[1], f.tile[2], f.tile[3],
      f.fixed_us);
}

TEST(ServedExperts, CommittedIsTheFit) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const Set& set : sets()) {
    std::vector<ExpertsRow> rows;
    for (const Measured& m : rows_of(set, *folder)) {
      if (!m.held_out) rows.push_back(m.row);
    }
    ASSERT_FALSE(rows.empty()) << set.kernel;
    const Device& device = set.machine.device;
    const TiledGemm committed = committed_of(set, product_of(rows[0]));
    const TiledGemm fit = fit_experts(rows, device, committed);
    double moved = 0;
    for (const ExpertsRow& r : rows)
      moved += std::abs(std::log(predicted(fit, r, device) / predicted(committed, r, device)));
    moved /= static_cast<double>(rows.size());
    EXPECT_LT(moved, 0.01) << set.machine.name << " " << set.kernel << " " << set.type
                           << ": the fit is\n"
                           << text(fit) << "\ncommitted is\n"
                           << text(committed);
  }
}

TEST(ServedExperts, PredictOtherShapes) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const Set& set : sets()) {
    Errors errors;
    for (const Measured& m : rows_of(set, *folder)) {
      if (!m.held_out) continue;
      const Device& device = set.machine.device;
      const Seconds time = predicted(committed_of(set, product_of(m.row)), m.row, device);
      CostModel costs;
      costs.kernels.amax = set.scales;
      const double band = costs.compute(product_of(m.row), device).band;
      const std::string what = fmt::format("{} {}", set.machine.name, set.type);
      errors.add(what + ", all", time / m.row.time, band);
      errors.add(what + (m.rows_each < 8    ? ", rows each < 8"
                         : m.rows_each < 64 ? ", rows each < 64"
                                            : ", rows each >= 64"),
                 time / m.row.time, band);
    }
    errors.print();
    for (const auto& [what, e] : errors.summaries()) {
      if (!what.ends_with("all")) continue;
      EXPECT_LE(e.mean, set.balanced ? 0.15 : 0.2) << what;
      EXPECT_NEAR(e.bias, 0, 0.06) << what;
      EXPECT_NEAR(e.within_band, 0.8, 0.05) << what;
    }
  }
}

MatMul experts(std::int64_t rows) {
  return {.batch = 64, .m = rows, .n = 4096, .k = 2048, .served = true};
}

// Less than a tile of rows takes as long as a tile.
TEST(ServedExperts, AFewRowsTakeAsLongAsOne) {
  const auto time = [](std::int64_t rows) {
    return CostModel{}.compute(experts(rows), h100()).total();
  };
  EXPECT_LT(time(16) / time(1), 1.1);
  EXPECT_GT(time(4096) / time(256), 8);
}

// Tokens that choose leave no expert with just a tile's rows: one token more is no tile more.
TEST(ServedExperts, OneTokenMoreIsNoTileMore) {
  const auto time = [](std::int64_t rows) {
    return CostModel{}.compute(experts(rows), h100()).total();
  };
  for (const std::int64_t rows : {64, 128, 256, 512}) {
    EXPECT_LT(time(rows + 1) / time(rows), 1.03) << rows;
    EXPECT_GT(time(rows + rows / 8) / time(rows), 1) << rows;
  }
}

// On Blackwell scales of blocks cost 8 bits their advantage, and one scale does not.
TEST(ServedExperts, OneScaleIsFasterThanScalesOfBlocks) {
  const Device b200 = machines()[2].device;
  const auto time = [&b200](DType type, Fusion scales) {
    MatMul product = experts(1024);
    product.in = type;
    CostModel costs;
    costs.kernels.amax = scales;
    return costs.compute(product, b200).total();
  };
  const Seconds half = time(DType::kBf16, Fusion::kFused);
  EXPECT_LT(time(DType::kFp8, Fusion::kFused) / half, 0.7);
  EXPECT_GT(time(DType::kFp8, Fusion::kBlocks) / time(DType::kFp8, Fusion::kFused), 1.3);
}

// The kernels of engines are slower than products that training frameworks group, where compute
// bounds both.
TEST(ServedExperts, AreNoOtherProducts) {
  MatMul trained = experts(1024);
  trained.served = false;
  EXPECT_GT(CostModel{}.compute(experts(1024), h100()).total() /
                CostModel{}.compute(trained, h100()).total(),
            1.1);
  EXPECT_EQ(served_experts(experts(1), cpu(), Fusion::kFused), nullptr);
}

}  // namespace plait::served_experts_test
