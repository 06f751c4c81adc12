#pragma once
// What the host did around the kernels of a trace: PyTorch's operators, nodes of autograd and
// annotations, of which a kernel names the innermost ("External id") and time the ones around it.
// Kept are those that may say what a kernel is for: of PyTorch's a third, 32 bytes each.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plait {

/// An operator ("aten::mul"), a node of autograd ("autograd::engine::evaluate_function:
/// MulBackward0", and within it "MulBackward0") or an annotation.
struct TraceOperator {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int32_t external = -1;
  std::int32_t sequence =
      -1;                  // of autograd: the same of what ran forward and of its node; -1: none
  std::uint32_t name = 0;  // index into KinetoTrace::operator_names
  bool backward = false;   // a node
};

/// Of one thread of the host: in the order of their starts, outer ones first.
struct TraceThread {
  std::int64_t id = 0;
  std::vector<TraceOperator> operators;
};

/// "MulBackward0" of "autograd::engine::evaluate_function: MulBackward0"; else the name.
std::string_view bare_operator(std::string_view name);
bool is_evaluation(std::string_view name);

/// Sorts out what is kept. As Kineto writes them, an operator comes before those within it.
class OperatorReader {
 public:
  OperatorReader(std::vector<TraceThread>& threads, std::vector<std::string>& names)
      : threads_(threads), names_(names) {}

  struct Event {
    const std::string& name;
    std::int64_t thread = 0, start_ns = 0, end_ns = 0, external = -1, sequence = -1;
    bool backward = false;
  };
  void add(const Event& event);
  /// Where a file had another order.
  void put_in_order();

 private:
  // Always; views that autograd numbers, within another operator; nodes that operators are within.
  enum class Keep : std::uint8_t { kAlways, kWithin, kWhereFilled, kNever };
  struct Named {
    std::uint32_t number = 0;
    Keep keep = Keep::kAlways;
    bool node = false;
  };
  const Named& named(const std::string& name);
  static Keep keep_of(std::string_view name);

  std::vector<TraceThread>& threads_;
  std::vector<std::string>& names_;
  std::vector<Keep> keeps_;  // of names_
  std::unordered_map<std::string, Named> numbers_;
};

}  // namespace plait
