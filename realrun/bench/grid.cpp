#include "realrun/bench/grid.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/dropout.h"
#include "model/op_json.h"
#include "realrun/start_values.h"

namespace plait {
namespace {

constexpr double kMostFlops = 3e9;               // of one call: about 30 ms of a core
constexpr std::int64_t kMostElements = 4 << 20;  // of one operand: 16 MiB

/// A stream of draws that depends on its name only.
class Draws {
 public:
  explicit Draws(std::string_view name) : seed_(hash_of(name)) {}
  std::uint64_t next() { return kernels::mix64(seed_ + 0x9E3779B97F4A7C15U * ++drawn_); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool once_in(std::uint64_t n) { return next() % n == 0; }
  /// Log-uniform between 2^from and 2^to.
  std::int64_t size(double from, double to) {
    const double exponent = from + (to - from) * uniform();
    if (once_in(2)) {
      const double whole = std::floor(exponent);
      const auto power = std::int64_t{1} << static_cast<int>(whole);
      return exponent - whole < 0.5 ? power : power + power / 2;
    }
    const auto near = static_cast<std::int64_t>(std::exp2(exponent)) / 16 * 16;
    return std::max<std::int64_t>(near, 16);
  }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

class Grid {
 public:
  explicit Grid(GridSize size) : quick_(size == GridSize::kQuick) {}

  void matrix_products() {
    for (GemmLayout layout : {GemmLayout::kNT, GemmLayout::kNN, GemmLayout::kTN}) {
      Draws d(layout == GemmLayout::kNT ? "nt" : layout == GemmLayout::kNN ? "nn" : "tn");
      repeat(quick_ ? 16 : 80, [&] { return product(d, layout, size_rows(d), 6, 11, 12.5); });
      // A library may do small products in another way; they get their share.
      repeat(quick_ ? 6 : 50, [&] { return product(d, layout, d.size(4, 7), 5, 7, 7.5); });
    }
  }

  void attentions() {
    for (int kind = 0; kind < 8; ++kind) {
      const bool fused = (kind & 1) != 0, dropout = (kind & 2) != 0, backward = (kind & 4) != 0;
      Draws d("attention" + std::to_string(kind));
      repeat(quick_ ? 10 : 70, [&]() -> Compute {
        const std::int64_t heads = std::int64_t{1} << (d.next() % 4);
        const std::int64_t share = std::int64_t{1} << (d.next() % 3);
        const std::int64_t sequence = d.size(5, quick_ ? 7.5 : 10);
        return Attention{.pass = backward ? Pass::kBackward : Pass::kForward,
                         .batch = 1 + static_cast<std::int64_t>(d.next() % 4),
                         .heads = heads,
                         .kv_heads = std::max<std::int64_t>(heads / share, 1),
                         .seq_q = sequence,
                         .seq_kv = sequence,
                         .head_dim = std::int64_t{16} << (d.next() % 4),
                         .fused = fused,
                         .dropout = dropout,
                         .dtype = DType::kFp32};
      });
    }
  }

  /// `make` gets rows and width; it returns an op that works on rows x width elements.
  void rows(const std::string& name,
            const std::function<Compute(std::int64_t, std::int64_t, Draws&)>& make) {
    Draws d(name);
    repeat(quick_ ? 10 : 50, [&]() -> Compute {
      const std::int64_t count = size_rows(d);
      return make(count, size_width(d), d);
    });
  }
  /// The same by elements.
  void flat(const std::string& name, const std::function<Compute(std::int64_t)>& make) {
    Draws d(name);
    repeat(quick_ ? 8 : 36, [&] { return make(d.size(10, quick_ ? 16 : 22)); });
  }

  std::vector<Compute> ops() && { return std::move(ops_); }

 private:
  /// Of a linear layer on `rows` tokens, between a width and one that may be the MLP's or the
  /// vocabulary's; from 2^`least` to 2^`most` and 2^`most_wide`.
  Compute product(Draws& d, GemmLayout layout, std::int64_t rows, double least, double most,
                  double most_wide) {
    const bool weight = layout == GemmLayout::kTN, forward = layout == GemmLayout::kNT;
    const std::int64_t inner = d.size(least, quick_ ? std::min(most, 8.0) : most);
    const std::int64_t wide = d.size(least, quick_ ? std::min(most_wide, 8.0) : most_wide);
    const bool swapped = d.once_in(2);
    const std::int64_t n = swapped ? inner : wide, k = swapped ? wide : inner;
    return MatMul{.pass = weight    ? Pass::kWeightGrad
                          : forward ? Pass::kForward
                                    : Pass::kInputGrad,
                  .layout = layout,
                  .m = weight ? n : rows,
                  .n = weight ? k : n,
                  .k = weight ? rows : k,
                  .in = DType::kFp32,
                  .out = DType::kFp32,
                  .accumulate = d.once_in(2),
                  .bias = layout != GemmLayout::kNN && d.once_in(2)};
  }
  std::int64_t size_rows(Draws& d) const { return d.size(5, quick_ ? 8 : 12); }
  std::int64_t size_width(Draws& d) const { return d.size(6, quick_ ? 8 : 11); }
  static std::int64_t largest_operand(const Compute& op) {
    if (const auto* g = std::get_if<MatMul>(&op)) {
      return std::max({g->m * g->k, g->n * g->k, g->m * g->n});
    }
    if (const auto* a = std::get_if<Attention>(&op)) {
      const std::int64_t tokens = a->batch * a->seq_q * a->heads;
      return std::max(tokens * 3 * a->head_dim, a->fused ? 0 : tokens * a->seq_kv);
    }
    return memory_traffic(op).value / (2 * size_of(DType::kFp32));
  }
  /// Draws until `count` ops are small enough.
  template <class Make>
  void repeat(int count, Make&& make) {
    for (int i = 0; i < count;) {
      const Compute op = make();
      if (hardware_flops(op).value > kMostFlops || largest_operand(op) > kMostElements) continue;
      ops_.push_back(op), ++i;
    }
  }

  bool quick_;
  std::vector<Compute> ops_;
};

constexpr DType kType = DType::kFp32;

void normalise_and_activate(Grid& g) {
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    const std::string suffix = pass == Pass::kForward ? " forward" : " backward";
    g.rows("layer norm" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Norm{pass, NormKind::kLayerNorm, r, w, kType};
    });
    g.rows("rms norm" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Norm{pass, NormKind::kRmsNorm, r, w, kType};
    });
    g.rows("rope" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      constexpr std::int64_t kHead = 64;
      return Rope{pass, r, round_up(w, kHead), kType};
    });
    using K = ActivationKind;
    struct Kind {
      K kind;
      bool gated;
    };
    for (const Kind k : {Kind{K::kGelu, false}, Kind{K::kGelu, true}, Kind{K::kSilu, true},
                         Kind{K::kRelu, false}}) {
      const std::string name = std::to_string(static_cast<int>(k.kind)) + (k.gated ? "gated" : "");
      g.rows("activation" + name + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
        return Activation{pass, k.kind, k.gated, r, w, kType};
      });
    }
  }
}

void begin_and_end(Grid& g) {
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    const std::string suffix = pass == Pass::kForward ? " forward" : " backward";
    g.rows("tokens" + suffix, [=](std::int64_t r, std::int64_t w, Draws& d) {
      return Embedding{pass, r, w, d.size(8, 13), false, kType, kType};
    });
    g.rows("positions" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Embedding{pass, r, w, r, true, kType, kType};
    });
  }
  using Step = CrossEntropy::Step;
  for (Step step : {Step::kRowMax, Step::kSums, Step::kLoss, Step::kGradient}) {
    g.rows("cross entropy" + std::to_string(static_cast<int>(step)),
           [=](std::int64_t r, std::int64_t w, Draws&) {
             return CrossEntropy{step, r, w, kType};
           });
  }
}

void add_up(Grid& g) {
  for (int kind = 0; kind < 4; ++kind) {
    g.rows("add" + std::to_string(kind), [=](std::int64_t r, std::int64_t w, Draws&) {
      return Add{Pass::kForward, r, w, (kind & 1) != 0, (kind & 2) != 0, kType};
    });
  }
  g.rows("add backward", [](std::int64_t r, std::int64_t w, Draws&) {
    return Add{Pass::kBackward, r, w, false, true, kType};
  });
  g.rows("bias gradient", [](std::int64_t r, std::int64_t w, Draws&) {
    return BiasGrad{r, w, kType, kType};
  });
  g.flat("cast", [](std::int64_t n) { return Cast{n, kType, kType}; });
  g.flat("fill", [](std::int64_t n) { return Fill{n, kType}; });
  g.flat("squared norm", [](std::int64_t n) { return SquaredNorm{n, kType}; });
  g.flat("adam", [](std::int64_t n) { return Adam{n, kType, kType, kType, kType}; });
}

}  // namespace

std::vector<Compute> compute_grid(GridSize size) {
  Grid grid(size);
  grid.matrix_products();
  grid.attentions();
  normalise_and_activate(grid);
  begin_and_end(grid);
  add_up(grid);
  std::vector<std::pair<std::uint64_t, Compute>> shuffled;
  for (const Compute& op : std::move(grid).ops()) {
    shuffled.emplace_back(hash_of(to_json(op)), op);
  }
  std::ranges::stable_sort(shuffled, {}, &std::pair<std::uint64_t, Compute>::first);
  std::vector<Compute> out;
  for (std::size_t i = 0; i < shuffled.size(); ++i) {
    if (i == 0 || shuffled[i].first != shuffled[i - 1].first) out.push_back(shuffled[i].second);
  }
  return out;
}

}  // namespace plait
