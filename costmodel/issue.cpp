#include "costmodel/issue.h"

#include <algorithm>
#include <span>

#include "costmodel/expert_chains.h"
#include "costmodel/launches.h"
#include "costmodel/projections.h"

namespace plait {
namespace {

template <class Body>
const Body* computed(const Op& op) {
  const Compute* c = std::get_if<Compute>(&op.body);
  return c == nullptr ? nullptr : std::get_if<Body>(c);
}

template <class Body>
bool is_forward_of(const Op& op) {
  const Body* body = computed<Body>(op);
  return body != nullptr && body->pass == Pass::kForward;
}

// One of the products that Transformer Engine's GroupedLinear hands to cuBLASLt for each expert, in
// C++ and so on any host alike (common/gemm/cublaslt_gemm.cu, multi_stream_cublas_gemm): 8 of them
// in 0.267 ms (TransformerEngine pull request 3134, products of 128 tokens with weights of 2,048 x
// 2,048, which take a Blackwell less).
constexpr Seconds kExpertProduct{33.4e-6};

/// What Host::waits_for_lengths calls in front of attention, by Scaling's core/nn/attention/
/// attention.py. Fused, get_max_seq_length: difference, max and its copy to the host. Unfused, the
/// mask (cumulative_seq_lengths_to_dense_attention_mask) of sequences of one document each: which
/// lengths end a sequence (remainder, comparison, where) and the difference; per sequence two
/// indices and two sizes copied to the host, ones, zeros and the block among them; all in a stack,
/// its triangle, and its complement.
std::int64_t length_calls(const Attention& a) { return a.fused ? 3 : 4 + 7 * a.batch + 3; }

/// Calls of the linear layer around the product. A pass enters the layer once: backward with the
/// gradient of its input, whichever op that of its weight is in.
double layer_calls(const MatMul& m, const Host& host) {
  const bool enters = m.pass != Pass::kWeightGrad && m.pass != Pass::kOptimizer;
  const bool narrow = size_of(m.in) <= 1;
  return enters ? host.linear_calls * (narrow ? 2 : 1) : 0;
}

/// What the host calls for an op, and how long that takes. With experts apart a product is one for
/// each expert, and so is what else is called for it, as each expert's weight is a parameter of its
/// own to autograd (pytorch/module/grouped_linear.py).
class Calls : public Launches {
 public:
  explicit Calls(const Kernels& kernels) : kernels_(kernels) {}
  std::int64_t count() const { return count_; }
  Seconds time(Seconds launch) const {
    return launch * static_cast<double>(count_ - products_of_experts_) +
           kExpertProduct * static_cast<double>(products_of_experts_);
  }
  void kernel(const Compute& op, int calls) override {
    count_ += calls;
    const auto* product = std::get_if<MatMul>(&op);
    if (product != nullptr && experts_apart(*product, kernels_) > 1) products_of_experts_ += calls;
  }
  void chain(const KernelChain& chain) override { count_ += calls_of(chain); }
  void calls(std::int64_t count) override { count_ += count; }

 private:
  const Kernels& kernels_;
  std::int64_t count_ = 0, products_of_experts_ = 0;
};

// A kernel of those that Transformer Engine casts experts' rows with, expert by expert in C++
// (pytorch/csrc/extensions/cast.cpp, split_quantize): 256 tensors in 1,144 us
// (ROCm/TransformerEngine pull request 598, one kernel each). A scale of the tensor's own takes the
// largest value, the scale and the cast.
constexpr Seconds kExpertCast{4.5e-6};
constexpr int kCurrentScaling = 3;

/// The experts whose rows the cast is of: those of the block's products that read its result.
std::int64_t experts_of(const Op& cast, const Block& block) {
  const auto reads_result = [&](const Operand& o) {
    return o.use == Use::kRead && std::ranges::any_of(cast.operands, [&](const Operand& written) {
             return written.use != Use::kRead && written.tensor == o.tensor;
           });
  };
  for (const Op& op : block.ops) {
    const MatMul* product = computed<MatMul>(op);
    if (product != nullptr && std::ranges::any_of(op.operands, reads_result)) return product->batch;
  }
  return 1;
}

/// What casts of experts' rows take longer than one call.
Seconds casts_of_experts(const Op& op, const Block& block, const Host& host,
                         const Kernels& kernels) {
  const Cast* cast = computed<Cast>(op);
  const bool apart = kernels.experts == Fusion::kEager && host.launch_time.value > 0;
  if (cast == nullptr || !apart || size_of(cast->to) > 1 || cast->to == cast->from) return {};
  const std::int64_t experts = experts_of(op, block);
  if (experts <= 1) return {};
  const bool own_scale = kernels.amax == Fusion::kEager && cast->to == DType::kFp8;
  return kExpertCast * static_cast<double>(experts * (own_scale ? kCurrentScaling : 1));
}

/// Pieces that go around while a product works on others, issued by the call that issues it
/// (Transformer Engine's userbuffers, PyTorch's symmetric memory), not by torch.distributed.
bool within_product(const Op& op) {
  const auto* c = std::get_if<Collective>(&op.body);
  return c != nullptr && c->kind == CollectiveKind::kShift && c->axes.has(Axis::kTp);
}

Seconds issue_time(const Op& op, const Host& host, const Kernels& kernels) {
  if (std::holds_alternative<Copy>(op.body) || within_product(op)) return host.launch_time;
  if (const auto* collective = std::get_if<Collective>(&op.body)) {
    return host.collective_time * static_cast<double>(all_reduces_of(*collective, kernels)) +
           host.launch_time * calls_of(sequence_chain(*collective, kernels));
  }
  const Compute* c = std::get_if<Compute>(&op.body);
  if (c == nullptr) return host.collective_time;  // sent or received
  const auto* route = std::get_if<Route>(c);
  if (route != nullptr && host.routing_graph)
    return host.launch_time * (1 + (is_forward(route->pass) ? kRouteCopiesToHost : 0));
  if (host.launch_time.value == 0) return {};
  Calls calls(kernels);
  launch(*c, kernels, calls);
  Seconds time = calls.time(host.launch_time);
  if (const auto* product = std::get_if<MatMul>(c))
    time += host.launch_time * layer_calls(*product, host);
  const auto* attention = std::get_if<Attention>(c);
  if (attention != nullptr && is_forward(attention->pass) && host.waits_for_lengths)
    time += host.launch_time * static_cast<double>(length_calls(*attention));
  return time;
}

bool takes_gathered_tokens(const Op& op) {
  const Dispatch* dispatch = computed<Dispatch>(op);
  return dispatch != nullptr && dispatch->senders > 0;
}

/// The op behind which it is known how many tokens each expert has: the choice or, where tokens are
/// gathered, the last gather, since a rank counts those of all ranks then
/// (MoEAllGatherTokenDispatcher).
bool tells_tokens(const Block& block, std::size_t at) {
  const auto behind = std::span(block.ops).subspan(at + 1);
  if (is_forward_of<Route>(block.ops[at]))
    return std::ranges::none_of(behind, takes_gathered_tokens);
  return !behind.empty() && takes_gathered_tokens(behind.front());
}

}  // namespace

std::int64_t host_calls(const Compute& op, const Kernels& kernels) {
  Calls calls(kernels);
  launch(op, kernels, calls);
  return calls.count();
}

std::vector<Seconds> issue_times(const Block& block, const Host& host, const Kernels& kernels) {
  std::vector<Seconds> out(block.ops.size());
  if (host.graphs) {
    if (!out.empty()) out[0] = host.launch_time;
    return out;
  }
  bool recomputes = false;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const bool again = block.ops[i].phase == Phase::kRecompute;
    out[i] = issue_time(block.ops[i], host, kernels) +
             casts_of_experts(block.ops[i], block, host, kernels);
    if (again && !recomputes) out[i] += host.launch_time * kCheckpointCalls;
    recomputes = again;
  }
  return out;
}

HostWait wait_after(const Block& block, std::size_t op_of_block, const Host& host) {
  const Op& op = block.ops[op_of_block];
  if (host.waits_for_passes && op_of_block + 1 == block.ops.size()) return HostWait::kDevice;
  if (host.blocking) return HostWait::kOp;
  if (is_message(op)) return host.waits_for_messages ? HostWait::kDevice : HostWait::kNot;
  const bool tells = (host.waits_for_routing && tells_tokens(block, op_of_block)) ||
                     (host.waits_for_lengths && op_of_block + 1 < block.ops.size() &&
                      is_forward_of<Attention>(block.ops[op_of_block + 1]));
  return tells ? HostWait::kOp : HostWait::kNot;
}

}  // namespace plait
