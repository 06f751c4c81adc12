#include "reports/profile/trace_operators.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function: ";

// They launch nothing and say nothing of what does (aten/src/ATen/native/TensorShape.cpp,
// native/cuda/EmptyTensor.cpp): two thirds of all operators.
constexpr std::string_view kWithoutKernels[] = {
    "aten::as_strided", "aten::empty",      "aten::empty_like",  "aten::empty_strided",
    "aten::resize_",    "aten::detach",     "aten::detach_",     "detach",
    "aten::t",          "aten::transpose",  "aten::permute",     "aten::expand",
    "aten::unsqueeze",  "aten::squeeze",    "aten::alias",       "aten::result_type",
    "aten::reshape",    "aten::is_nonzero", "aten::resolve_conj"};

// They launch nothing, and their nodes may: the sum of an input's gradients is within the last one
// that adds to it.
constexpr std::string_view kViews[] = {"aten::view", "aten::_unsafe_view", "aten::narrow",
                                       "aten::slice"};

constexpr std::string_view kAccumulation = "torch::autograd::AccumulateGrad";

bool is_node(std::string_view name) {
  return is_evaluation(name) || name.find("Backward") != std::string_view::npos ||
         name == kAccumulation;
}

/// Whether whatever a node launches is launched by operators within it: by its name a node of
/// PyTorch's own ("MulBackward0"), none of Python's ("MyFunctionBackward").
bool is_of_operators(std::string_view node) {
  return bare_operator(node) == kAccumulation || (node.back() >= '0' && node.back() <= '9');
}

bool fits_in_32_bits(std::int64_t value) {
  return value <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool is_evaluation(std::string_view name) { return name.starts_with(kEvaluation); }

std::string_view bare_operator(std::string_view name) {
  return is_evaluation(name) ? name.substr(kEvaluation.size()) : name;
}

OperatorReader::Keep OperatorReader::keep_of(std::string_view name) {
  if (name.empty() || std::ranges::find(kWithoutKernels, name) != std::end(kWithoutKernels))
    return Keep::kNever;
  if (std::ranges::find(kViews, name) != std::end(kViews)) return Keep::kWithin;
  return is_node(name) && is_of_operators(name) ? Keep::kWhereFilled : Keep::kAlways;
}

const OperatorReader::Named& OperatorReader::named(const std::string& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const Keep keep = keep_of(name);
  const Named out = {static_cast<std::uint32_t>(names_.size()), keep, is_node(name)};
  if (keep != Keep::kNever) names_.push_back(name), keeps_.push_back(keep);
  return numbers_.emplace(name, out).first->second;
}

void OperatorReader::add(const Event& e) {
  const Named& name = named(e.name);
  if (name.keep == Keep::kNever || !fits_in_32_bits(e.external)) return;
  auto thread = std::ranges::find(threads_, e.thread, &TraceThread::id);
  if (thread == threads_.end()) thread = threads_.insert(thread, {e.thread, {}});
  std::vector<TraceOperator>& kept = thread->operators;
  const auto is_empty = [&](const TraceOperator& last) {
    return keeps_[last.name] == Keep::kWhereFilled && last.end_ns <= e.start_ns;
  };
  while (!kept.empty() && is_empty(kept.back())) kept.pop_back();
  if (name.keep == Keep::kWithin &&
      (e.sequence < 0 || kept.empty() || kept.back().end_ns < e.end_ns)) {
    return;
  }
  const bool numbered = e.sequence >= 0 && fits_in_32_bits(e.sequence);
  kept.push_back({e.start_ns, e.end_ns, static_cast<std::int32_t>(e.external),
                  numbered ? static_cast<std::int32_t>(e.sequence) : -1, name.number,
                  e.backward || name.node});
}

void OperatorReader::put_in_order() {
  const auto outer_first = [](const TraceOperator& a, const TraceOperator& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  };
  for (TraceThread& t : threads_) {
    if (!std::ranges::is_sorted(t.operators, outer_first)) {
      std::ranges::stable_sort(t.operators, outer_first);
    }
  }
}

}  // namespace plait
