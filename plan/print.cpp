#include "plan/print.h"

#include <fmt/ostream.h>

#include "plan/places.h"

namespace plait {
namespace {

std::string shape(const Tensor& t, const Mesh& mesh) {
  std::string out;
  for (int i = 0; i < t.rank; ++i) {
    const Dim& d = t.dims[static_cast<std::size_t>(i)];
    out += fmt::format("{}{}", i ? " x " : "", d.local(mesh));
    if (!d.sharded.empty()) out += fmt::format(" (of {}, {})", d.global, name_of(d.sharded));
  }
  return out;
}

std::string_view name_of(Scope s) {
  switch (s) {
    case Scope::kRole: return "rank";
    case Scope::kLayer: return "layer";
    case Scope::kMicrobatch: return "microbatch";
    case Scope::kLayerMicrobatch: return "layer, microbatch";
    case Scope::kCall: return "call";
  }
  return "?";
}

std::string operand(const Plan& plan, const Operand& o) {
  const char* use = o.use == Use::kRead ? "" : o.use == Use::kWrite ? "=" : "+=";
  std::string out = fmt::format("{}{}", use, plan.tensors[o.tensor].name);
  if (o.shift != 0) out += fmt::format("[{:+}]", o.shift);
  return out;
}

struct Sizes {
  std::string operator()(const Compute& c) const { return std::visit(*this, c); }
  std::string operator()(const MatMul& g) const {
    const std::string batch = g.batch > 1 ? fmt::format("{} of ", g.batch) : "";
    return fmt::format("{}{}x{}x{}", batch, g.m, g.n, g.k);
  }
  std::string operator()(const Attention& a) const {
    const std::string values = a.v_dim() == a.head_dim ? "" : fmt::format("/{}", a.v_dim());
    const std::int64_t n = a.documents.count;
    const std::string documents = n > 0 ? fmt::format(" of {} documents", n) : "";
    const std::string window = a.windowed() ? fmt::format(" w{}", a.window) : "";
    return fmt::format("b{} h{}/{} s{}{} d{}{}{}", a.batch, a.heads, a.kv_heads, a.seq_q, window,
                       a.head_dim, values, documents);
  }
  std::string operator()(const Norm& n) const { return fmt::format("{}x{}", n.rows, n.width); }
  std::string operator()(const HeadNorm& n) const {
    const std::string keys = n.key_dim == n.head_dim ? "" : fmt::format("/{}", n.key_dim);
    return fmt::format("{} h{}/{} d{}{}", n.rows, n.heads, n.kv_heads, n.head_dim, keys);
  }
  std::string operator()(const Activation& a) const {
    return fmt::format("{}x{}", a.rows, a.width);
  }
  std::string operator()(const Rope& r) const { return fmt::format("{}x{}", r.rows, r.width); }
  std::string operator()(const LatentHeads& x) const {
    return fmt::format("{} h{} d{}/{}", x.rows, x.heads, x.head_dim, x.value_dim);
  }
  std::string operator()(const CausalConv& c) const {
    return fmt::format("{}x{} w{}", c.rows, c.channels, c.width);
  }
  std::string operator()(const Scan& s) const {
    return fmt::format("b{} h{}/{} s{} d{}x{} c{}", s.batch, s.heads, s.groups, s.seq, s.head_dim,
                       s.state, s.chunk);
  }
  std::string operator()(const DeltaRule& r) const {
    return fmt::format("b{} h{}/{} s{} d{}x{} c{}", r.batch, r.heads, r.groups, r.seq, r.value_dim,
                       r.key_dim, r.chunk);
  }
  std::string operator()(const Gate& g) const {
    return fmt::format("{}x{}{}", g.rows, g.width, g.per_row ? " by row" : "");
  }
  std::string operator()(const GatedNorm& n) const {
    return fmt::format("{}x{} of {}", n.rows, n.width, n.groups);
  }
  std::string operator()(const Embedding& e) const {
    return fmt::format("{}x{} of {}", e.rows, e.width, e.vocab);
  }
  std::string operator()(const CrossEntropy& c) const {
    return fmt::format("{}x{}", c.rows, c.vocab);
  }
  std::string operator()(const Route& r) const {
    return fmt::format("{}x{} of {}, {} slots", r.rows(), r.chosen, r.experts, r.capacity);
  }
  std::string operator()(const Dispatch& d) const {
    const std::string to = fmt::format("{}x{} to {} slots", d.rows, d.width, d.slots);
    return d.senders > 0 ? fmt::format("{}, from {} ranks", to, d.senders) : to;
  }
  std::string operator()(const Combine& c) const {
    return fmt::format("{}x{} of {} slots", c.rows, c.width, c.slots);
  }
  std::string operator()(const Add& a) const { return fmt::format("{}x{}", a.rows, a.width); }
  std::string operator()(const BiasGrad& b) const { return fmt::format("{}x{}", b.rows, b.width); }
  std::string operator()(const Cast& c) const { return fmt::format("{}", c.elements); }
  std::string operator()(const Fill& f) const { return fmt::format("{}", f.elements); }
  std::string operator()(const SquaredNorm& n) const { return fmt::format("{}", n.elements); }
  std::string operator()(const Amax& m) const { return fmt::format("{}", m.elements); }
  std::string operator()(const Adam& a) const { return fmt::format("{}", a.elements); }
  std::string operator()(const Collective& c) const {
    return fmt::format("{} {} B{}", name_of(c.axes), c.bytes().value,
                       c.stages == Stages::kEnds       ? " (ends)"
                       : c.stages == Stages::kMirrored ? " (mirrored)"
                                                       : "");
  }
  std::string operator()(const Send& s) const { return message(s); }
  std::string operator()(const Recv& r) const { return message(r); }
  template <class Message>
  static std::string message(const Message& m) {
    const std::string times = m.fan.peers > 1 ? fmt::format("{} x ", m.fan.peers) : "";
    return fmt::format("{}{:+} {}{} B", name_of(m.axis), m.offset, times, m.bytes.value);
  }
  std::string operator()(const Copy& c) const { return fmt::format("{} B", c.bytes.value); }
};

void print_op(std::ostream& out, const Plan& plan, const Op& op) {
  fmt::print(out, "  {:<13} {:<12} {:<14} {:<26}", name_of(op.stream), name_of(op.phase),
             name_of(op), std::visit(Sizes{}, op.body));
  for (const Operand& o : op.operands) fmt::print(out, " {}", operand(plan, o));
  fmt::print(out, "\n");
}

void print_call(std::ostream& out, const Plan& plan, const Call& call, std::size_t index) {
  fmt::print(out, "{:>6}  {:<28} layer {:>4}  microbatch {:>4}  chunk {:>2}", index,
             plan.blocks[call.block].name, call.layer, call.microbatch, call.chunk);
  if (call.after >= 0) fmt::print(out, "  after {}", call.after);
  fmt::print(out, "\n");
}

}  // namespace

void print(std::ostream& out, const Plan& plan, const PrintOptions& options) {
  fmt::print(out, "plan {}: {} ranks, {} microbatches, {} ops\n", plan.name, rank_count(plan),
             plan.microbatches, op_count(plan));
  fmt::print(out, "\ntensors\n");
  for (const Tensor& t : plan.tensors) {
    fmt::print(
        out, "  {:<34} {:<5} {:<10} per {:<17} {}{}{}\n", t.name, name_of(t.dtype), name_of(t.kind),
        name_of(t.scope), shape(t, plan.mesh),
        t.is_view() ? fmt::format(", in {} at {}", plan.tensors[t.storage].name, t.offset) : "",
        t.persistent ? ", persistent" : "");
  }
  for (const Block& block : plan.blocks) {
    fmt::print(out, "\nblock {}\n", block.name);
    for (const Op& op : block.ops) print_op(out, plan, op);
  }
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    if (options.stage >= 0 && static_cast<std::size_t>(options.stage) != s) continue;
    fmt::print(out, "\nstage {}: {} calls, {} ops\n", s, plan.programs[s].calls.size(),
               op_count(plan, s));
    for (std::size_t i = 0; i < plan.programs[s].calls.size(); ++i) {
      const Call& call = plan.programs[s].calls[i];
      print_call(out, plan, call, i);
      if (!options.ops) continue;
      for (const Op& op : plan.blocks[call.block].ops) print_op(out, plan, op);
    }
  }
}

}  // namespace plait
