#include "realrun/bench/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/random.h"
#include "model/op_json.h"
#include "realrun/start_values.h"

namespace plait {
namespace {

/// Of gradients, logits and master weights.
constexpr DType kWide = DType::kFp32;

/// A stream of draws that depends on its name only.
class Draws {
 public:
  explicit Draws(std::string_view name) : seed_(hash_of(name)) {}
  std::uint64_t next() { return mix64(seed_ + 0x9E3779B97F4A7C15U * ++drawn_); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool once_in(std::uint64_t n) { return next() % n == 0; }
  std::int64_t size(const Octaves& o) {
    const double exponent = o.from + (o.to - o.from) * uniform();
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
  explicit Grid(const Extents& extents) : e_(extents) {}

  void matrix_products() {
    for (GemmLayout layout : {GemmLayout::kNT, GemmLayout::kNN, GemmLayout::kTN}) {
      Draws d(layout == GemmLayout::kNT ? "nt" : layout == GemmLayout::kNN ? "nn" : "tn");
      repeat(e_.products, [&] { return product(d, layout, d.size(e_.rows), e_.inner, e_.wide); });
      // A library may do small products in another way; they get their share.
      repeat(e_.small_products,
             [&] { return product(d, layout, d.size(e_.few), e_.small_inner, e_.small_wide); });
    }
  }

  /// One of each expert, with as many rows.
  void products_of_experts() {
    for (GemmLayout layout : {GemmLayout::kNT, GemmLayout::kNN, GemmLayout::kTN}) {
      Draws d("experts" + std::to_string(static_cast<int>(layout)));
      repeat(e_.expert_products, [&]() -> Compute {
        const std::int64_t experts = std::int64_t{4} << (d.next() % 6);
        MatMul op = product(d, layout, d.size(e_.expert_rows), e_.expert_inner, e_.expert_wide);
        op.batch = experts, op.bias = false;
        return op;
      });
    }
  }

  void attentions() {
    for (int kind = 0; kind < 8; ++kind) {
      const bool fused = (kind & 1) != 0, dropout = (kind & 2) != 0, backward = (kind & 4) != 0;
      Draws d("attention" + std::to_string(kind));
      repeat(e_.attentions, [&]() -> Compute {
        const std::int64_t heads = e_.least_heads << (d.next() % 4);
        const std::int64_t share = std::int64_t{1} << (d.next() % 3);
        const std::int64_t sequence = d.size(e_.sequence);
        return Attention{.pass = backward ? Pass::kBackward : Pass::kForward,
                         .batch = 1 + static_cast<std::int64_t>(d.next() % 4),
                         .heads = heads,
                         .kv_heads = std::max<std::int64_t>(heads / share, 1),
                         .seq_q = sequence,
                         .seq_kv = sequence,
                         .head_dim = e_.least_head_dim << (d.next() % e_.head_dims),
                         .fused = fused,
                         .dropout = dropout,
                         .dtype = e_.type};
      });
    }
  }

  /// `make` gets rows and width; it returns an op that works on rows x width elements.
  void rows(const std::string& name, const Octaves& width,
            const std::function<Compute(std::int64_t, std::int64_t, Draws&)>& make) {
    Draws d(name);
    repeat(e_.by_row, [&]() -> Compute {
      const std::int64_t count = d.size(e_.rows);
      return make(count, d.size(width), d);
    });
  }
  void rows(const std::string& name,
            const std::function<Compute(std::int64_t, std::int64_t, Draws&)>& make) {
    rows(name, e_.width, make);
  }
  /// The same by elements.
  void flat(const std::string& name, const std::function<Compute(std::int64_t)>& make) {
    Draws d(name);
    repeat(e_.flat, [&] { return make(d.size(e_.elements)); });
  }

  const Extents& extents() const { return e_; }
  std::vector<Compute> ops() && { return std::move(ops_); }

 private:
  /// Of a linear layer on `rows` tokens, between a width and one that may be the MLP's or the
  /// vocabulary's.
  MatMul product(Draws& d, GemmLayout layout, std::int64_t rows, const Octaves& from,
                 const Octaves& to) {
    const bool weight = layout == GemmLayout::kTN, forward = layout == GemmLayout::kNT;
    const std::int64_t inner = d.size(from);
    const std::int64_t wide = d.size(to);
    const bool swapped = d.once_in(2);
    const std::int64_t n = swapped ? inner : wide, k = swapped ? wide : inner;
    return MatMul{.pass = weight    ? Pass::kWeightGrad
                          : forward ? Pass::kForward
                                    : Pass::kInputGrad,
                  .layout = layout,
                  .m = weight ? n : rows,
                  .n = weight ? k : n,
                  .k = weight ? rows : k,
                  .in = e_.type,
                  .out = weight ? DType::kFp32 : e_.type,
                  .accumulate = d.once_in(2),
                  .bias = layout != GemmLayout::kNN && d.once_in(2)};
  }
  static std::int64_t largest_operand(const Compute& op) {
    if (const auto* g = std::get_if<MatMul>(&op)) {
      return g->batch * std::max({g->m * g->k, g->n * g->k, g->m * g->n});
    }
    if (const auto* a = std::get_if<Attention>(&op)) {
      const std::int64_t tokens = a->batch * a->seq_q * a->heads;
      return std::max(tokens * 3 * a->head_dim, a->fused ? 0 : tokens * a->seq_kv);
    }
    // A table may be larger: most of it is not touched.
    const auto* e = std::get_if<Embedding>(&op);
    const std::int64_t table = e == nullptr ? 0 : e->vocab * e->width / 4;
    return std::max(memory_traffic(op).value / (2 * size_of(DType::kFp32)), table);
  }
  /// Draws until `count` ops are small enough.
  template <class Make>
  void repeat(int count, Make&& make) {
    for (int i = 0; i < count;) {
      const Compute op = make();
      if (hardware_flops(op).value > e_.most_flops || largest_operand(op) > e_.most_elements) {
        continue;
      }
      ops_.push_back(op), ++i;
    }
  }

  const Extents& e_;
  std::vector<Compute> ops_;
};

void normalise_and_activate(Grid& g) {
  const DType type = g.extents().type;
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    const std::string suffix = pass == Pass::kForward ? " forward" : " backward";
    g.rows("layer norm" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Norm{pass, NormKind::kLayerNorm, r, w, type};
    });
    g.rows("rms norm" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Norm{pass, NormKind::kRmsNorm, r, w, type};
    });
    g.rows("rope" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      constexpr std::int64_t kHead = 64;
      return Rope{pass, r, round_up(w, kHead), type};
    });
    using K = ActivationKind;
    struct Kind {
      K kind;
      bool gated;
    };
    for (const Kind k : {Kind{K::kGelu, false}, Kind{K::kGelu, true}, Kind{K::kSilu, true},
                         Kind{K::kRelu, false}}) {
      const std::string name =
          fmt::format("activation{}{}{}", static_cast<int>(k.kind), k.gated ? "gated" : "", suffix);
      g.rows(name, [=](std::int64_t r, std::int64_t w, Draws&) {
        return Activation{pass, k.kind, k.gated, r, w, type};
      });
    }
  }
}

void begin_and_end(Grid& g) {
  const DType type = g.extents().type;
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    const std::string suffix = pass == Pass::kForward ? " forward" : " backward";
    g.rows("tokens" + suffix, [=, &g](std::int64_t r, std::int64_t w, Draws& d) {
      return Embedding{pass, r, w, d.size(g.extents().vocabulary), false, type, kWide};
    });
    g.rows("positions" + suffix, [=](std::int64_t r, std::int64_t w, Draws&) {
      return Embedding{pass, r, w, r, true, type, kWide};
    });
  }
  using Step = CrossEntropy::Step;
  for (Step step : {Step::kRowMax, Step::kSums, Step::kLoss, Step::kGradient}) {
    g.rows("cross entropy" + std::to_string(static_cast<int>(step)), g.extents().logits,
           [=](std::int64_t r, std::int64_t w, Draws&) {
             return CrossEntropy{step, r, w, kWide};
           });
  }
}

void add_up(Grid& g) {
  const DType type = g.extents().type;
  for (int kind = 0; kind < 4; ++kind) {
    g.rows("add" + std::to_string(kind), [=](std::int64_t r, std::int64_t w, Draws&) {
      return Add{Pass::kForward, r, w, (kind & 1) != 0, (kind & 2) != 0, type};
    });
  }
  g.rows("add backward", [=](std::int64_t r, std::int64_t w, Draws&) {
    return Add{Pass::kBackward, r, w, false, true, type};
  });
  g.rows("bias gradient", [=](std::int64_t r, std::int64_t w, Draws&) {
    return BiasGrad{r, w, type, kWide};
  });
  g.flat("cast", [=](std::int64_t n) { return Cast{n, type, kWide}; });
  if (type != kWide) g.flat("narrowing cast", [=](std::int64_t n) { return Cast{n, kWide, type}; });
  g.flat("fill", [](std::int64_t n) { return Fill{n, kWide}; });
  g.flat("squared norm", [](std::int64_t n) { return SquaredNorm{n, kWide}; });
  g.flat("adam", [=](std::int64_t n) { return Adam{n, type, kWide, kWide, kWide}; });
}

}  // namespace

std::vector<Compute> compute_grid(const Extents& extents) {
  Grid grid(extents);
  grid.matrix_products();
  grid.products_of_experts();
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
