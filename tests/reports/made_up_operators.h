#pragma once
// Traces of operators with the kernels that they launched.

#include "tests/reports/made_up_trace.h"

namespace plait {

class MadeUpOperators : public MadeUpTrace {
 public:
  MadeUpOperators() = default;
  MadeUpOperators(const MadeUpOperators&) = delete;
  MadeUpOperators& operator=(const MadeUpOperators&) = delete;

  /// An operator, with its number of autograd's; outer ones come first. The kernels that follow are
  /// launched by the last one.
  void op(const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
          std::int64_t sequence = -1, std::int64_t thread = 1) {
    reader_.add({name, thread, start_ns, end_ns, ++operators_, sequence, false});
    now = std::max(now, end_ns);
  }
  void launch(const std::string& kernel_name = "elementwise_kernel") {
    const std::int64_t start = 10 * std::ssize(trace.events);
    kernel(kernel_name, -1, start, start + 10).external = operators_;
  }
  /// An operator with one kernel, behind all before it.
  void run(const std::string& name, std::int64_t sequence = -1) {
    op(name, now, now + 10, sequence);
    launch();
  }
  /// The node of the operator with that number, with operators that launch a kernel each, and
  /// behind it one of the engine's.
  void node(const std::string& name, std::int64_t sequence, const std::vector<std::string>& within,
            const std::string& behind = "") {
    const std::int64_t begin = now, end = now + 10 * std::ssize(within) + 30;
    op("autograd::engine::evaluate_function: " + name, begin, end, sequence, 2);
    op(name, begin + 1, end - 20, sequence, 2);
    std::int64_t at = begin + 2;
    for (const std::string& inner : within) op(inner, at, at + 5, -1, 2), launch(), at += 5;
    if (!behind.empty()) op(behind, end - 15, end - 5, -1, 2), launch();
  }
  std::int64_t now = 0;

 private:
  OperatorReader reader_{trace.threads, trace.operator_names};
  std::int64_t operators_ = 0;
};

}  // namespace plait
