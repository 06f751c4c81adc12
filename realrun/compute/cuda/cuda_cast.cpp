#include "realrun/compute/cuda/cuda_cast.h"

#include "core/error.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/deal_heads.h"
#include "kernels/cuda/quantize.h"
#include "realrun/compute/copy.h"
#include "realrun/compute/cuda/element_types.h"
#include "realrun/compute/quantized.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;

class CudaCast {
 public:
  CudaCast(const k::Queue& q, const Operands& operands, const OpView& view)
      : q_(q), operands_(operands), view_(view) {}

  void run() const {
    if (is_quantized(tensor(1))) return quantize();
    if (is_quantized(tensor(0))) return dequantize();
    if (view_.takes_share(1)) return take_share();
    if (view_.takes_columns(1)) return take_columns();
    for (std::size_t i = 1; i < view_.count(); ++i) copy_to(i);
  }

 private:
  void quantize() const {
    const auto shares = shares_of(tensor(1), tensor(2), tensor(0), mesh());
    with_type(type(0), [&]<class T>(T) {
      k::quantize_shares(q_, at<std::uint8_t>(1), at<float>(2), at<T>(0), shares);
    });
  }
  void dequantize() const {
    const auto shares = shares_of(tensor(0), tensor(1), tensor(2), mesh());
    with_type(type(2), [&]<class T>(T) {
      k::dequantize_shares(q_, at<T>(2), at<std::uint8_t>(0), at<float>(1), shares,
                           owes_sum(tensor(0)));
    });
  }
  void take_share() const {
    with_type(type(0), [&]<class T>(T) {
      const std::int64_t n = view_.elements(1);
      k::cast(q_, at<T>(1), at<T>(0) + view_.share_taken(1) * n, n);
    });
  }
  void take_columns() const {
    with_type(type(0), [&]<class T>(T) {
      const std::int64_t columns = view_.width(1);
      k::copy_columns(q_, at<T>(1), columns, at<T>(0) + view_.share_of(1, 2) * columns,
                      view_.width(0), view_.elements(1) / columns, columns);
    });
  }
  void copy_to(std::size_t i) const {
    const CopyKind kind = copy_kind(tensor(i), tensor(0), mesh());
    with_type(type(0), [&]<class From>(From) {
      if (kind != CopyKind::kElements) {
        PLAIT_CHECK(type(i) == type(0), "a copy to another shape and type at once");
        return reshape<From>(i, kind);
      }
      with_type(type(i),
                [&]<class To>(To) { k::cast(q_, at<To>(i), at<From>(0), view_.elements(i)); });
    });
  }
  /// As copy_elements of realrun/compute/copy.h.
  template <class T>
  void reshape(std::size_t i, CopyKind kind) const {
    const Tensor& parted = by_rank(tensor(0), tensor(i));
    const bool orders = &parted == &tensor(0);
    switch (kind) {
      case CopyKind::kElements: return;
      case CopyKind::kSections: return copy_sections<T>(i);
      case CopyKind::kTokens: return order_tokens<T>(i, token_rows(parted, mesh()), orders);
      case CopyKind::kSlots: {
        const ExpertSlots s = expert_slots(parted, mesh());
        return k::exchange_dimensions(q_, at<T>(i), at<T>(0), orders ? s.senders : s.experts,
                                      orders ? s.experts : s.senders, s.each);
      }
      case CopyKind::kHeads: break;
    }
    const auto shares = head_shares(parted, tensor(orders ? i : 0), mesh());
    orders ? k::collect_heads(q_, at<T>(i), at<T>(0), shares)
           : k::deal_heads(q_, at<T>(i), at<T>(0), shares);
  }
  template <class T>
  void copy_sections(std::size_t i) const {
    const std::int64_t out_width = view_.width(i), in_width = view_.width(0);
    for (const SharedColumns& s : shared_columns(tensor(i), tensor(0), mesh())) {
      k::copy_columns(q_, at<T>(i) + s.to, out_width, at<T>(0) + s.from, in_width,
                      view_.elements(i) / out_width, s.columns);
    }
  }
  template <class T>
  void order_tokens(std::size_t i, const TokenRows& t, bool by_position) const {
    for (std::int64_t r = 0; r < t.ranks; ++r) {
      const kernels::Positions place = chunks_of(r, t.ranks, t.ranks * t.tokens);
      const std::int64_t held = r * t.tokens * t.row;
      if (by_position) {
        k::scatter_rows(q_, at<T>(i), at<T>(0) + held, place, t.tokens, t.row);
      } else {
        k::gather_rows(q_, at<T>(i) + held, at<T>(0), place, t.tokens, t.row);
      }
    }
  }

  const Tensor& tensor(std::size_t i) const { return view_.tensor(i); }
  const Mesh& mesh() const { return view_.mesh(); }
  DType type(std::size_t i) const { return tensor(i).dtype; }
  template <class E>
  E* at(std::size_t i) const {
    return operands_.at<E>(i);
  }

  const k::Queue& q_;
  const Operands& operands_;
  const OpView& view_;
};

}  // namespace

void cast(const k::Queue& queue, const Operands& operands, const OpView& view) {
  CudaCast(queue, operands, view).run();
}

}  // namespace plait::cuda
