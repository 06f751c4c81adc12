#include "realrun/compute/op_view.h"

#include <algorithm>

#include "core/error.h"
#include "realrun/start_values.h"

namespace plait {

kernels::Dropout OpView::dropout(const std::string& place, double probability) const {
  kernels::Dropout d;
  d.probability = probability;
  if (probability == 0) return d;
  // Recomputation draws the same mask: its tensor is called after the first one.
  d.seed = hash_of(place.substr(0, place.find('.'))) +
           static_cast<std::uint64_t>(call_.layer) * 0x9E3779B97F4A7C15ULL +
           static_cast<std::uint64_t>(context_.step) * 0xD1B54A32D192ED03ULL;
  d.positions = plan_.tensors[0].dims[0].global;  // tokens
  const std::int64_t b = plan_.tensors[0].dims[1].global;
  d.sample_offset =
      (context_.rank.data_index(plan_.mesh) * plan_.microbatches + call_.microbatch) * b;
  return d;
}

kernels::Dropout OpView::dropout_of_sum(std::size_t mask) const {
  kernels::Dropout d = dropout(tensor(mask).name, context_.model.dropout);
  d.place = place_of(2);
  return d;
}

std::int64_t OpView::first_column(std::size_t part, std::size_t whole) const {
  const Dim &columns = tensor(part).dims[2], &all = tensor(whole).dims[2];
  if (columns.global == all.global) return 0;
  std::int64_t first = 0;
  for (std::size_t i = 0; columns.sections[i] == 0; ++i) first += all.sections[i];
  return first / plan_.mesh.size_of(all.sharded);
}

kernels::AttentionShape OpView::shape_of(const Attention& a) const {
  kernels::AttentionShape shape{a.seq_q, a.batch, a.heads, a.kv_heads, a.head_dim, a.causal};
  shape.value_dim = a.value_dim, shape.window = a.window;
  const std::size_t packed = a.pass == Pass::kForward ? 0 : 1;
  shape.place = place_of(packed);
  if (a.documents.count > 0) {
    shape.bounds = plan_.documents.bounds.data();
    shape.documents = static_cast<std::int64_t>(plan_.documents.bounds.size()) - 1;
  }
  if (a.balanced) shape.other_keys = a.seq_kv;
  if (a.ring_step >= 0) {
    const std::int64_t cp = plan_.mesh[Axis::kCp];
    const std::int64_t from = (context_.rank.along(Axis::kCp) - a.ring_step + cp) % cp;
    shape.keys_place = chunks_of(from, cp, tensor(packed).dims[0].global);
    shape.merges = a.merges();
  }
  return shape;
}

kernels::Dropout OpView::dropout_of(const Attention& a) const {
  const std::size_t packed = a.pass == Pass::kForward ? 0 : 1;
  kernels::Dropout d = dropout("attention", a.dropout ? context_.model.dropout_of_attention() : 0);
  d.heads = context_.model.heads, d.place = place_of(packed);
  // Heads that tp leaves are dealt along ulysses.
  const AxisSet split = tensor(packed).dims[2].sharded, dealt = split - (split - Axis::kUlysses);
  const std::int64_t whole = context_.rank.share(plan_.mesh, split - dealt);
  d.head_offset =
      a.heads * (whole * plan_.mesh.size_of(dealt) + context_.rank.share(plan_.mesh, dealt));
  return d;
}

kernels::RopeShape OpView::shape_of(const Rope& r) const {
  kernels::RopeShape shape;
  shape.sequence = dim(0, 0), shape.batch = dim(0, 1), shape.row_width = dim(0, 2);
  const Model& m = context_.model;
  shape.head_dim = m.rotated_dim();
  shape.heads = r.width / shape.head_dim;
  shape.skipped = m.latent_attention() ? shape.row_width / shape.heads - shape.head_dim
                                       : m.head_dim - shape.head_dim;
  shape.place = place_of(0);
  return shape;
}

OpView::Copied OpView::copied() const {
  const std::int64_t n = std::min(elements(0), elements(1));
  return {takes_share(1) ? share_of(1, 0) * n : 0, elements(1) > n ? share_of(0, 0) * n : 0, n};
}

OpView::RowsOfRank OpView::rows_of_rank(const MatMul& g) const {
  const std::int64_t n = plan_.mesh.size_of(kTensorAxes);
  const std::int64_t from = (context_.rank.share(plan_.mesh, kTensorAxes) - g.ring_step + n) % n;
  const bool gathers = dim(2, 0) > dim(0, 0);
  return gathers ? RowsOfRank{0, from * g.m * dim(2, 2)} : RowsOfRank{from * g.m * g.k, 0};
}

std::vector<OpView::Section> OpView::sections_of(std::size_t kept) const {
  const Dim& columns = tensor(2).dims[2];
  const std::int64_t shards = plan_.mesh.size_of(columns.sharded);
  std::vector<Section> out;
  std::int64_t first = 0, first_kept = 0;
  for (std::size_t i = 0; i < columns.sections.size(); ++i) {
    const std::int64_t n = columns.sections[i] / shards;
    const bool in_kept = tensor(kept).dims[2].sections[i] > 0;
    out.push_back({first, n, in_kept, first_kept});
    first += n, first_kept += in_kept ? n : 0;
  }
  return out;
}

/// Elements of operand `i` that are this rank's to deal with, where they are sharded over `axes`
/// and the operand may be whole (zero_stage 1 reduces whole buffers in place).
Part OpView::own_share(std::size_t i, AxisSet axes) const {
  const std::int64_t n = elements(i);
  if (!tensor(i).dims[0].sharded.empty() || axes.empty()) return {i, 0, n};
  const std::int64_t share = n / plan_.mesh.size_of(axes);
  return {i, share * context_.rank.share(plan_.mesh, axes), share};
}

std::vector<Part> OpView::counted_squares() const {
  std::vector<Part> out;
  for (std::size_t i = 1; i < count(); ++i) add_squares(out, i);
  return out;
}

/// This rank's share of the unit whose gradients are operand `i`, without what other ranks count.
void OpView::add_squares(std::vector<Part>& to, std::size_t i) const {
  const TensorId operand = op_.operands[i].tensor;
  for (const UnitBuffers& unit : context_.units) {
    if (unit.gradients != operand && unit.gradient_shard != operand) continue;
    const Tensor& whole = plan_.tensors[unit.gradients];
    const auto [first, share] =
        share_of_buffer(plan_, context_.rank, whole, plan_.tensors[unit.moment]);
    const bool all = elements(i) == whole.elements(plan_.mesh);
    const std::int64_t start = all ? 0 : first;  // of the operand, in the unit
    for (TensorId view : unit.gradient_views) {
      const Tensor& t = plan_.tensors[view];
      if (!context_.rank.counts(plan_.mesh, t)) continue;
      const std::int64_t begin = std::max(t.offset, first);
      const std::int64_t end = std::min(t.offset + t.elements(plan_.mesh), first + share);
      if (begin >= end) continue;
      const bool goes_on = !to.empty() && to.back().operand == i &&
                           to.back().first + to.back().elements == begin - start;
      if (!goes_on) to.push_back({i, begin - start, 0});
      to.back().elements += end - begin;
    }
  }
}

std::vector<Part> OpView::parts_by_weight() const {
  std::vector<Part> out;
  for (const UnitBuffers& unit : context_.units) {
    if (unit.master != op_.operands[0].tensor) continue;
    const auto [first, share] = share_of_buffer(plan_, context_.rank, plan_.tensors[unit.weights],
                                                plan_.tensors[unit.master]);
    for (TensorId view : unit.weight_views) {
      const Tensor& t = plan_.tensors[view];
      const std::int64_t matrices = t.rank == 3 ? t.dims[0].local(plan_.mesh) : 1;
      const std::int64_t each = t.elements(plan_.mesh) / matrices;
      for (std::int64_t m = 0; m < matrices; ++m) {
        const std::int64_t begin = std::max(t.offset + m * each, first);
        const std::int64_t end = std::min(t.offset + (m + 1) * each, first + share);
        out.push_back(
            {0, std::max<std::int64_t>(0, begin - first), std::max<std::int64_t>(0, end - begin)});
      }
    }
  }
  return out;
}

OpView::AdamParts OpView::adam_parts() const {
  const std::size_t n = count();
  AdamParts out;
  out.settings.step = context_.step, out.settings.learning_rate = context_.learning_rate;
  out.clips = tensor(1).dims[0].global == 1 && tensor(1).kind == TensorClass::kBuffer;
  const AxisSet axes = tensor(n - 1).dims[0].sharded;  // of the moments
  out.gradient = own_share(0, axes);
  out.first = {n - 2, 0, elements(n - 2)}, out.second = {n - 1, 0, elements(n - 1)};
  bool has_master = false;
  for (std::size_t i = out.clips ? 2 : 1; i + 2 < n; ++i) {  // what is updated
    const bool state = tensor(i).kind == TensorClass::kOptimizer;
    (state ? out.master : out.weight) = own_share(i, axes);
    (state ? has_master : out.copies) = true;
  }
  if (!has_master) out.master = out.weight, has_master = out.copies, out.copies = false;
  PLAIT_CHECK(has_master, "an optimizer step without weights");
  return out;
}

}  // namespace plait
