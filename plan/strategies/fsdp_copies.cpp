// What frameworks copy around the collectives of sharded parameters. A gather fills one buffer with
// the shares of all ranks, one behind the other, and a reduction starts from one; modules have a
// tensor for each parameter. For a unit of P parameters, weights of w bytes and g on the wire:
//
//   FSDP1       parameters are views into one flat parameter, which is gathered in place; autograd
//               concatenates the gradients of the views (2 w P, compute stream; flat_param.py,
//               _get_unflat_views_unaligned: the backward pass of torch.split), and another type on
//               the wire is a cast on a stream of its own (_runtime_utils.py, _post_backward_hook)
//   FSDP2       weights are copied from the buffer to the parameters (2 w P) and gradients to the
//               buffer, in the wire's type ((w + g) P), both on the compute stream, where the
//               second waits until the reduction before it has read the buffer
//               (_fsdp_collectives.py, foreach_all_gather_copy_out, foreach_reduce_scatter_copy_in;
//               _fsdp_param_group.py, post_backward)
//   DeepSpeed   weights are concatenated parameter by parameter on the stream of the gathers
//               (2 w P; partition_parameters.py, AllGatherCoalescedHandle.wait), gradients copied
//               to a bucket and from there, ordered by rank, to what is reduced (2 w P, (w + g) P),
//               on the stream of the reductions (stage3.py, __add_grad_to_ipg_bucket;
//               coalesced_collectives.py, reduce_scatter_coalesced)
//
// Divisions in place before the reduction (FSDP1, DeepSpeed) are on the reductions' streams, too,
// and are left out: they would be 4 bytes a parameter beside what is on the way.
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

Op copy(const Draft& d, Stream stream, Phase phase, TensorId from, TensorId to) {
  const Cast body{0, d.tensors[from].dtype, d.tensors[to].dtype};
  return {Compute(body), stream, phase, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}};
}

TensorId twin(Draft& d, TensorId of, const char* suffix, DType dtype, Scope scope) {
  Tensor t = d.tensors[of];
  t.name += suffix, t.dtype = dtype, t.scope = scope;
  t.kind = TensorClass::kBuffer, t.persistent = false;
  return d.add(t);
}

/// On which the copies of gradients run, in their order.
Stream stream_of(FsdpCopies copies, std::size_t i) {
  if (copies == FsdpCopies::kDeepSpeed || i > 0) return Stream::kGradSync;
  return Stream::kCompute;
}

}  // namespace

// FSDP1 leaves what autograd has added up as it is, in the type of what was gathered
// (_runtime_utils.py, _post_backward_hook, which returns before its cast where _sync_gradients is
// false). FSDP2 casts it to the type that travels, and adds the next microbatch's to that
// (_fsdp_param.py, to_accumulated_grad_if_needed, accumulate_unsharded_grad_if_needed).
DType type_of_whole_sums(FsdpCopies copies, int zero_stage, const Precision& p) {
  if (zero_stage < 3) return p.gradients;
  switch (copies) {
    case FsdpCopies::kFsdp1: return p.weights;
    case FsdpCopies::kFsdp2: return p.reduction;
    case FsdpCopies::kNone:
    case FsdpCopies::kDeepSpeed: break;
  }
  return p.gradients;
}

void add_copy_buffers(Draft& d, Unit& unit) {
  const Precision& p = d.workload.precision;
  const FsdpCopies copies = d.strategy.fsdp.copies;
  if (!d.strategy.copies_gradients() || unit.zero_stage < 3) return;
  // What DeepSpeed's one rank has to itself arrives where it is used (partition_parameters.py,
  // NoGatherHandle).
  const bool alone = copies == FsdpCopies::kDeepSpeed && d.mesh().size_of(unit.shard_axes) == 1;
  if (copies != FsdpCopies::kFsdp1 && !alone) {
    const Scope scope = d.tensors[unit.weight_buffer].scope;
    unit.gather_buffer = twin(d, unit.weight_buffer, ".arrived", weight_type(d, unit), scope);
  }
  if (!unit.trained()) return;
  const auto next = [&](const char* suffix, DType dtype, Scope scope) {
    unit.reduce_buffers.push_back(twin(d, unit.gradient_buffer, suffix, dtype, scope));
  };
  // FSDP2 has but one buffer at a time.
  if (copies == FsdpCopies::kFsdp2) return next(".in_order", p.reduction, Scope::kRole);
  const DType written = d.tensors[unit.gradient_buffer].dtype;
  next(".flat", written, Scope::kCall);
  const bool orders = copies == FsdpCopies::kDeepSpeed;
  if (orders || p.reduction != written) next(".in_order", p.reduction, Scope::kCall);
}

bool copies_out(const Draft& d, const Unit& unit) {
  return unit.gather_buffer != kNoTensor && d.strategy.fsdp.copies == FsdpCopies::kFsdp2;
}

void copy_arrived(const Draft& d, Block& gather, const Unit& unit) {
  if (unit.gather_buffer == kNoTensor || copies_out(d, unit)) return;
  gather.ops.push_back(
      copy(d, Stream::kParamGather, Phase::kParamGather, unit.gather_buffer, unit.weight_buffer));
}

Block copy_out_block(const Draft& d, const Unit& unit) {
  return {"param_gather.copy_out",
          {copy(d, Stream::kCompute, Phase::kParamGather, unit.gather_buffer, unit.weight_buffer)}};
}

void copy_gradients(const Draft& d, Block& scatter, const Unit& unit) {
  TensorId from = unit.gradient_buffer;
  for (std::size_t i = 0; i < unit.reduce_buffers.size(); ++i) {
    const TensorId to = unit.reduce_buffers[i];
    scatter.ops.push_back(
        copy(d, stream_of(d.strategy.fsdp.copies, i), Phase::kGradSync, from, to));
    from = to;
  }
}

}  // namespace plait
