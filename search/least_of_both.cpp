#include "search/least_of_both.h"

#include <algorithm>

namespace plait {
namespace {

PassTimes least(const PassTimes& a, const PassTimes& b) {
  PassTimes out;
  for (SimTime PassTimes::*t :
       {&PassTimes::forward, &PassTimes::backward, &PassTimes::weights, &PassTimes::forward_turns,
        &PassTimes::backward_turns, &PassTimes::forward_exchanges, &PassTimes::backward_exchanges,
        &PassTimes::kernels, &PassTimes::waits}) {
    out.*t = std::min(a.*t, b.*t);
  }
  out.ahead = std::max(a.ahead, b.ahead);  // what need not be waited for
  out.behind_gradients = std::max(a.behind_gradients, b.behind_gradients);
  return out;
}

ShardTimes least(const ShardTimes& a, const ShardTimes& b) {
  ShardTimes out;
  for (PassTimes ShardTimes::*p :
       {&ShardTimes::embedding, &ShardTimes::head, &ShardTimes::module, &ShardTimes::module_head}) {
    out.*p = least(a.*p, b.*p);
  }
  for (std::size_t k = 0; k < kMostLayerKinds; ++k) out.layers[k] = least(a.layers[k], b.layers[k]);
  return out;
}

void make_least(ShardTimesOfBoth& a, const ShardTimesOfBoth& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = least(a[i], b[i]);
}

void make_least(LayerSizes& a, const LayerSizes& b) {
  for (Bytes LayerSizes::*size : {&LayerSizes::saved, &LayerSizes::copies,
                                  &LayerSizes::beside_backward, &LayerSizes::beside_gradients}) {
    a.*size = std::min(a.*size, b.*size);
  }
}

}  // namespace

bool has_both(const Precision& p) { return p.narrows() && p.plain_first + p.plain_last > 0; }

Precision all_narrow(Precision p) {
  p.plain_first = p.plain_last = 0;
  return p;
}
Precision all_plain(Precision p) {
  p.matmul = p.weights;
  return all_narrow(p);
}

ShardTimesByKind least_of_both(ShardTimesByKind a, const ShardTimesByKind& b) {
  make_least(a.least, b.least);
  for (std::size_t k = 0; k < a.of_kind.size(); ++k) make_least(a.of_kind[k], b.of_kind[k]);
  return a;
}

ShardCosts least_of_both(ShardCosts a, const ShardCosts& b) {
  for (std::size_t k = 0; k < kMostLayerKinds; ++k)
    make_least(a.sizes.layers[k], b.sizes.layers[k]);
  a.sizes.beside_head = std::min(a.sizes.beside_head, b.sizes.beside_head);
  a.times = least_of_both(std::move(a.times), b.times);
  return a;
}

}  // namespace plait
