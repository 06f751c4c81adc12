#include "reports/profile/kernel_origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/profile/kernel_names.h"
#include "reports/profile/operator_chains.h"
#include "reports/profile/operator_patterns.h"
#include "reports/profile/operator_tree.h"

namespace plait {
namespace {

using Index = OperatorTree::Index;

/// What a name says, worked out once.
struct NamedOperator {
  char letter = '.';
  bool of_aten = false, adds = false, sums = false, evaluates = false;
  KernelKind own = KernelKind::kUnknown, all_within = KernelKind::kUnknown;
};

NamedOperator named_operator(const std::string& name) {
  NamedOperator out;
  out.letter = letter_of(name);
  out.of_aten = name.starts_with("aten::");
  out.adds = name == "aten::add" || name == "aten::add_";
  out.sums = name == "aten::sum";
  out.evaluates = is_evaluation(name);
  out.own = first_kind(operator_patterns::kOperatorNames, bare_operator(name));
  out.all_within = first_kind(operator_patterns::kOfAllWithin, bare_operator(name));
  return out;
}

class OriginFinder {
 public:
  explicit OriginFinder(const KinetoTrace& trace) : trace_(trace), tree_(trace) {
    for (const std::string& name : trace.operator_names) names_.push_back(named_operator(name));
    const auto count = static_cast<std::size_t>(tree_.size());
    in_chain_.assign(count, KernelKind::kUnknown);
    kinds_.assign(count, KernelKind::kUnknown);
    states_.assign(count, State::kNew);
  }

  KernelOrigins run() {
    find_chains();
    KernelOrigins out;
    out.of_event.reserve(trace_.events.size());
    for (const TraceEvent& e : trace_.events) {
      const Index by = tree_.launching(e);
      out.of_event.push_back(by == OperatorTree::kNone ? KernelOrigin{}
                                                       : KernelOrigin{kind_of(by), label_of(by)});
    }
    out.labels = std::move(labels_);
    return out;
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  const NamedOperator& name(Index i) const { return names_[tree_.at(i).name]; }
  const std::string& text(Index i) const { return trace_.operator_names[tree_.at(i).name]; }
  /// Runs forward, whatever it is within: what is computed again for a node is within that.
  bool runs_forward(Index i) const {
    const TraceOperator& o = tree_.at(i);
    return !o.backward && (o.sequence >= 0 || tree_.node_around(i) == OperatorTree::kNone);
  }

  /// Chains are of what runs forward, one operator after the other on a thread, without what is
  /// within them.
  void find_chains() {
    std::string letters;
    std::vector<Index> links;
    const auto close = [&] {
      const std::vector<KernelKind> kinds = kinds_of_chain(letters);
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        in_chain_[static_cast<std::size_t>(links[i])] = kinds[i];
      }
      letters.clear(), links.clear();
    };
    for (Index i = 0; i < tree_.size();) {
      if (!links.empty() && !tree_.same_thread(links.back(), i)) close();
      const NamedOperator& n = name(i);
      const bool counts = n.of_aten && runs_forward(i);
      if (counts && (tree_.launches(i) || is_view_of_chains(n.letter))) {
        letters += n.letter, links.push_back(i);
      }
      i = counts ? tree_.behind(i) : i + 1;
    }
    close();
  }

  KernelKind kind_of(Index i) {
    if (i == OperatorTree::kNone) return KernelKind::kUnknown;
    State& state = states_[static_cast<std::size_t>(i)];
    KernelKind& kind = kinds_[static_cast<std::size_t>(i)];
    if (state == State::kNew) {
      state = State::kOpen;
      kind = found_kind(i);
      state = State::kDone;
    }
    return kind;  // kUnknown within a circle
  }
  KernelKind found_kind(Index i) {
    for (Index o = i; o != OperatorTree::kNone; o = tree_.parent(o)) {
      if (name(o).all_within != KernelKind::kUnknown) return name(o).all_within;
    }
    const KernelKind chain = in_chain_[static_cast<std::size_t>(i)];
    if (chain != KernelKind::kUnknown) return chain;
    if (name(i).own != KernelKind::kUnknown) return name(i).own;
    const TraceOperator& o = tree_.at(i);
    if (o.backward && o.sequence >= 0) {
      const KernelKind forward = kind_of(tree_.forward_of(o.sequence));
      if (forward != KernelKind::kUnknown) return forward;
    }
    return kind_within(i);
  }
  KernelKind kind_within(Index i) {
    const Index around = tree_.parent(i);
    if (around == OperatorTree::kNone) return KernelKind::kUnknown;
    const TraceOperator& outer = tree_.at(around);
    if (outer.backward && tree_.at(i).sequence >= 0 && !tree_.at(i).backward) {
      return KernelKind::kUnknown;  // computed again
    }
    const KernelKind kind = kind_of(around);
    if (!outer.backward) return kind;
    if (name(i).sums && kind == KernelKind::kMatMul) return KernelKind::kBiasGradient;
    // Behind its node the engine adds to the gradient that the node before it will have: of a
    // norm's input, which is the residual stream, the other summand is what passed the block by.
    const bool of_input = name(i).adds && name(around).evaluates;
    return of_input && kind == KernelKind::kNorm ? KernelKind::kResidualAdd : kind;
  }

  std::int32_t label_of(Index i) {
    while (tree_.parent(i) != OperatorTree::kNone && name(tree_.parent(i)).of_aten) {
      i = tree_.parent(i);
    }
    const Index node = runs_forward(i) ? OperatorTree::kNone : tree_.node_around(i);
    const std::int64_t of_node =
        node == OperatorTree::kNone ? -1 : static_cast<std::int64_t>(tree_.at(node).name);
    const auto number = label_numbers_.try_emplace({tree_.at(i).name, of_node},
                                                   static_cast<std::int32_t>(labels_.size()));
    if (number.second) labels_.push_back(label_text(i, node));
    return number.first->second;
  }
  std::string label_text(Index i, Index node) const {
    if (node == OperatorTree::kNone || node == i) return std::string(bare_operator(text(i)));
    std::string_view around = bare_operator(text(node));
    constexpr std::string_view kAutograd = "torch::autograd::";
    if (around.starts_with(kAutograd)) around.remove_prefix(kAutograd.size());
    return fmt::format("{} in {}", text(i), around);
  }

  const KinetoTrace& trace_;
  OperatorTree tree_;
  std::vector<NamedOperator> names_;  // of the trace's operator names
  std::vector<KernelKind> in_chain_, kinds_;
  std::vector<State> states_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int32_t> label_numbers_;
  std::vector<std::string> labels_;
};

}  // namespace

bool says_what_for(std::string_view annotation) {
  using namespace operator_patterns;
  return first_kind(kOfAllWithin, annotation) != KernelKind::kUnknown ||
         first_kind(kOperatorNames, annotation) != KernelKind::kUnknown;
}

KernelOrigins origins_of(const KinetoTrace& trace) { return OriginFinder(trace).run(); }

}  // namespace plait
