#include "model/op_json.h"

#include "core/fields.h"

namespace plait {
namespace {

constexpr Int kSize{.min = 1}, kSizeOrNone{.min = 0};

Choice<Pass> pass_rule() {
  return {{{"forward", Pass::kForward},
           {"backward", Pass::kBackward},
           {"input_grad", Pass::kInputGrad},
           {"weight_grad", Pass::kWeightGrad},
           {"optimizer", Pass::kOptimizer}}};
}

Choice<DType> dtype_rule() {
  return choice_of({DType::kFp64, DType::kFp32, DType::kBf16, DType::kFp16, DType::kFp8,
                    DType::kInt64, DType::kInt32, DType::kInt8, DType::kNvfp4, DType::kNf4});
}

Choice<WeightFormat> format_rule() {
  auto out = choice_of<WeightFormat>(kWeightFormats);
  for (const WeightFormat f : kFallbackMixes) out.values.emplace_back(name_of(f), f);
  return out;
}

template <class T>
Field<T> size(std::string key, std::int64_t T::*member) {
  return field(std::move(key), member, kSize, "");
}
/// Of what an op may be without.
template <class T>
Field<T> size_or_none(std::string key, std::int64_t T::*member) {
  return field(std::move(key), member, kSizeOrNone, "");
}
template <class T>
Field<T> flag(std::string key, bool T::*member) {
  return field(std::move(key), member, Flag{}, "");
}
template <class T>
Field<T> dtype(std::string key, DType T::*member) {
  return field(std::move(key), member, dtype_rule(), "");
}
template <class T>
Field<T> pass(Pass T::*member) {
  return field("pass", member, pass_rule(), "");
}

std::vector<Field<MatMul>> fields(const MatMul*) {
  using T = MatMul;
  const Choice<GemmLayout> layouts{
      {{"nt", GemmLayout::kNT}, {"nn", GemmLayout::kNN}, {"tn", GemmLayout::kTN}}};
  return {pass(&T::pass),
          field("layout", &T::layout, layouts, ""),
          size("batch", &T::batch),
          size("m", &T::m),
          size("n", &T::n),
          size("k", &T::k),
          dtype("in", &T::in),
          dtype("out", &T::out),
          flag("accumulate", &T::accumulate),
          flag("bias", &T::bias),
          field("weights", &T::weights, format_rule(), "")};
}
std::vector<Field<Attention>> fields(const Attention*) {
  using T = Attention;
  return {pass(&T::pass),
          size("batch", &T::batch),
          size("heads", &T::heads),
          size("kv_heads", &T::kv_heads),
          size("seq_q", &T::seq_q),
          size("seq_kv", &T::seq_kv),
          size("head_dim", &T::head_dim),
          flag("causal", &T::causal),
          flag("fused", &T::fused),
          flag("dropout", &T::dropout),
          dtype("dtype", &T::dtype),
          flag("balanced", &T::balanced),
          size_or_none("window", &T::window)};
}
std::vector<Field<Norm>> fields(const Norm*) {
  using T = Norm;
  const Choice<NormKind> kinds{
      {{"layer_norm", NormKind::kLayerNorm}, {"rms_norm", NormKind::kRmsNorm}}};
  return {pass(&T::pass), field("kind", &T::kind, kinds, ""), size("rows", &T::rows),
          size("width", &T::width), dtype("dtype", &T::dtype)};
}
std::vector<Field<HeadNorm>> fields(const HeadNorm*) {
  using T = HeadNorm;
  return {pass(&T::pass),
          size("rows", &T::rows),
          size("heads", &T::heads),
          size_or_none("kv_heads", &T::kv_heads),
          size("head_dim", &T::head_dim),
          size_or_none("key_dim", &T::key_dim),
          size_or_none("value_width", &T::value_width),
          dtype("dtype", &T::dtype)};
}
std::vector<Field<Activation>> fields(const Activation*) {
  using T = Activation;
  const Choice<ActivationKind> kinds{{{"gelu", ActivationKind::kGelu},
                                      {"silu", ActivationKind::kSilu},
                                      {"relu", ActivationKind::kRelu}}};
  return {pass(&T::pass),         field("kind", &T::kind, kinds, ""), flag("gated", &T::gated),
          size("rows", &T::rows), size("width", &T::width),           dtype("dtype", &T::dtype)};
}
std::vector<Field<Gate>> fields(const Gate*) {
  using T = Gate;
  return {pass(&T::pass), size("rows", &T::rows), size("width", &T::width),
          flag("per_row", &T::per_row), dtype("dtype", &T::dtype)};
}
std::vector<Field<Rope>> fields(const Rope*) {
  using T = Rope;
  return {pass(&T::pass), size("rows", &T::rows), size("width", &T::width),
          dtype("dtype", &T::dtype)};
}
std::vector<Field<LatentHeads>> fields(const LatentHeads*) {
  using T = LatentHeads;
  return {pass(&T::pass),
          size("rows", &T::rows),
          size("heads", &T::heads),
          size("head_dim", &T::head_dim),
          size("value_dim", &T::value_dim),
          size_or_none("rope_dim", &T::rope_dim),
          dtype("dtype", &T::dtype)};
}
std::vector<Field<CausalConv>> fields(const CausalConv*) {
  using T = CausalConv;
  return {pass(&T::pass),           size("rows", &T::rows),    size("channels", &T::channels),
          size("width", &T::width), dtype("dtype", &T::dtype), flag("bias", &T::bias)};
}
std::vector<Field<DeltaRule>> fields(const DeltaRule*) {
  using T = DeltaRule;
  return {pass(&T::pass),
          size("batch", &T::batch),
          size("seq", &T::seq),
          size("heads", &T::heads),
          size("value_dim", &T::value_dim),
          size("groups", &T::groups),
          size("key_dim", &T::key_dim),
          size("chunk", &T::chunk),
          dtype("dtype", &T::dtype)};
}
std::vector<Field<Scan>> fields(const Scan*) {
  using T = Scan;
  return {pass(&T::pass),           size("batch", &T::batch),       size("seq", &T::seq),
          size("heads", &T::heads), size("head_dim", &T::head_dim), size("groups", &T::groups),
          size("state", &T::state), size("chunk", &T::chunk),       dtype("dtype", &T::dtype)};
}
std::vector<Field<GatedNorm>> fields(const GatedNorm*) {
  using T = GatedNorm;
  return {pass(&T::pass),
          size("rows", &T::rows),
          size("width", &T::width),
          size("groups", &T::groups),
          dtype("dtype", &T::dtype),
          flag("gate_last", &T::gate_last)};
}
std::vector<Field<Embedding>> fields(const Embedding*) {
  using T = Embedding;
  return {pass(&T::pass),
          size("rows", &T::rows),
          size("width", &T::width),
          size("vocab", &T::vocab),
          dtype("dtype", &T::dtype),
          dtype("grad_dtype", &T::grad_dtype),
          flag("learned_positions", &T::learned_positions),
          flag("accumulate", &T::accumulate)};
}
std::vector<Field<CrossEntropy>> fields(const CrossEntropy*) {
  using T = CrossEntropy;
  const Choice<T::Step> steps{{{"row_max", T::Step::kRowMax},
                               {"sums", T::Step::kSums},
                               {"loss", T::Step::kLoss},
                               {"gradient", T::Step::kGradient}}};
  return {field("step", &T::step, steps, ""), size("rows", &T::rows), size("vocab", &T::vocab),
          dtype("dtype", &T::dtype)};
}
std::vector<Field<Route>> fields(const Route*) {
  using T = Route;
  return {pass(&T::pass),
          size("tokens", &T::tokens),
          size("groups", &T::groups),
          size("experts", &T::experts),
          size("chosen", &T::chosen),
          size_or_none("capacity", &T::capacity),
          dtype("dtype", &T::dtype)};
}
template <class T>
std::vector<Field<T>> slot_fields() {
  return {pass(&T::pass),           size("rows", &T::rows),
          size("width", &T::width), size("chosen", &T::chosen),
          size("slots", &T::slots), dtype("dtype", &T::dtype)};
}
std::vector<Field<Dispatch>> fields(const Dispatch*) { return slot_fields<Dispatch>(); }
std::vector<Field<Combine>> fields(const Combine*) { return slot_fields<Combine>(); }
std::vector<Field<Add>> fields(const Add*) {
  using T = Add;
  return {pass(&T::pass),
          size("rows", &T::rows),
          size("width", &T::width),
          flag("bias", &T::bias),
          flag("dropout", &T::dropout),
          dtype("dtype", &T::dtype),
          flag("scaled", &T::scaled)};
}
std::vector<Field<BiasGrad>> fields(const BiasGrad*) {
  using T = BiasGrad;
  return {size("rows", &T::rows), size("width", &T::width), dtype("dtype", &T::dtype),
          dtype("grad_dtype", &T::grad_dtype)};
}
std::vector<Field<Cast>> fields(const Cast*) {
  using T = Cast;
  return {size("elements", &T::elements), dtype("from", &T::from), dtype("to", &T::to)};
}
std::vector<Field<Fill>> fields(const Fill*) {
  return {size("elements", &Fill::elements), dtype("dtype", &Fill::dtype)};
}
std::vector<Field<SquaredNorm>> fields(const SquaredNorm*) {
  return {size("elements", &SquaredNorm::elements), dtype("dtype", &SquaredNorm::dtype)};
}
std::vector<Field<Amax>> fields(const Amax*) {
  return {size("elements", &Amax::elements), dtype("dtype", &Amax::dtype)};
}
std::vector<Field<Adam>> fields(const Adam*) {
  using T = Adam;
  return {size("elements", &T::elements), dtype("weight", &T::weight),   dtype("grad", &T::grad),
          dtype("master", &T::master),    dtype("moments", &T::moments), flag("split", &T::split)};
}

template <class Op>
const std::vector<Field<Op>>& fields_of() {
  static const std::vector<Field<Op>> all = fields(static_cast<const Op*>(nullptr));
  return all;
}

/// Calls `work` with a default op of each alternative in turn.
template <std::size_t i = 0, class Work>
void for_each_op(Work&& work) {
  if constexpr (i < std::variant_size_v<Compute>) {
    work(std::variant_alternative_t<i, Compute>{});
    for_each_op<i + 1>(std::forward<Work>(work));
  }
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for_each_op([&](const auto& op) { names.emplace_back(kernel_name(op)); });
  return names;
}

template <class Op>
Op read_op(const Json& json) {
  std::vector<std::string> keys = {"op"};
  for (const Field<Op>& f : fields_of<Op>()) keys.push_back(f.key);
  refuse_unknown_keys(json, keys);
  Op op;
  for (const Field<Op>& f : fields_of<Op>()) {
    const Json* member = json.find(f.key);
    if (member == nullptr) refuse_missing(json, {{f.key, f.shape().expectation}});
    f.read(*member, op);
  }
  return op;
}

}  // namespace

std::string to_json(const Compute& op) {
  return std::visit(
      [&](const auto& kernel) {
        using Op = std::decay_t<decltype(kernel)>;
        std::vector<JsonMember> members;
        for (const Field<Op>& f : fields_of<Op>()) members.push_back({f.key, f.write(kernel)});
        const std::string rest = json_object(std::move(members));
        return R"({"op":)" + json_quote(kernel_name(op)) + "," + rest.substr(1);
      },
      op);
}

Compute compute_from(const Json& json) {
  const Text rule{op_names()};
  if (!json.is(Json::Kind::kObject)) refuse_type(json, "a compute op");
  const Json* name = json.find("op");
  if (name == nullptr) refuse_missing(json, {{"op", rule.shape().expectation}});
  std::string text;
  rule.read(*name, text);
  Compute out;
  for_each_op([&](auto op) {
    if (kernel_name(op) == text) out = read_op<decltype(op)>(json);
  });
  return out;
}

Shape ComputeRule::shape() const {
  return {"a compute op, as model/op_json.h has it", R"({"type":"object"})", "", "", {}, {}};
}

}  // namespace plait
