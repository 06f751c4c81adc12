#include "costmodel/costmodel.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "costmodel/block_scales.h"
#include "costmodel/calibration_cost.h"
#include "costmodel/casts.h"
#include "costmodel/chain_cost.h"
#include "costmodel/collectives.h"
#include "costmodel/deepep.h"
#include "costmodel/eager.h"
#include "costmodel/expert_chains.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/kernels.h"
#include "costmodel/one_shot.h"
#include "costmodel/projections.h"
#include "costmodel/served_experts.h"
#include "costmodel/single_loss.h"
#include "costmodel/torch_rows.h"
#include "costmodel/transfer.h"

namespace plait {

std::string_view name_of(Algorithm a) {
  switch (a) {
    case Algorithm::kRing: return "ring";
    case Algorithm::kTree: return "tree";
    case Algorithm::kNvls: return "nvls";
    case Algorithm::kNvlsTree: return "nvls_tree";
    case Algorithm::kPat: return "pat";
    case Algorithm::kPairwise: return "pairwise";
    case Algorithm::kOneShot: return "one_shot";
    case Algorithm::kPeerCopies: return "peer_copies";
    case Algorithm::kDeepEp: return "deepep";
    case Algorithm::kDirect: return "direct";
    case Algorithm::kRecursiveDoubling: return "recursive_doubling";
    case Algorithm::kBinomial: return "binomial";
  }
  return "?";
}

std::string_view name_of(Protocol p) {
  switch (p) {
    case Protocol::kLl: return "ll";
    case Protocol::kLl128: return "ll128";
    case Protocol::kSimple: return "simple";
  }
  return "?";
}

Cost roofline(Seconds fixed, Seconds compute, Seconds memory, const Quality& quality) {
  Cost cost;
  cost.provenance = quality.provenance;
  cost.band = quality.band;
  cost.share[kLaunchOverhead] = fixed;
  cost.share[compute >= memory ? kPeakFlops : kMemoryBandwidth] = std::max(compute, memory);
  return cost;
}

Cost cost_of(const KernelTime& time, const Quality& quality, const Device& device) {
  Cost cost;
  cost.provenance = quality.provenance;
  cost.band = quality.band;
  cost.share[kLaunchOverhead] = fixed_time(device, time.fixed);
  cost.share[kPeakFlops] = time.compute;
  cost.share[kMemoryBandwidth] = time.memory;
  return cost;
}

Cost stream_cost(Bytes bytes, int kernels, StreamKind kind, const Device& device) {
  const StreamFit fit = stream_fit(device, kind);
  const Seconds memory = bytes / (device.memory_bandwidth * fit.bandwidth);
  Cost cost = cost_of({fit.fixed, Seconds(), memory}, fit.quality, device);
  cost.share[kLaunchOverhead] = cost.share[kLaunchOverhead] * kernels;
  return cost;
}

Cost operator+(const Cost& a, const Cost& b) {
  const double ta = a.total().value, tb = b.total().value;
  if (tb == 0) return a;
  if (ta == 0) return b;
  Cost sum;
  for (std::size_t r = 0; r < sum.share.size(); ++r) sum.share[r] = a.share[r] + b.share[r];
  sum.provenance = std::max(a.provenance, b.provenance);
  sum.band = (a.band * ta + b.band * tb) / (ta + tb);
  return sum;
}

Cost operator*(double times, Cost cost) {
  for (Seconds& share : cost.share) share *= times;
  return cost;
}

namespace {

// Products and attention were measured on boards of these limits, which they reach. A lower limit
// lowers the clock, by this power of the ratio of limits.
double lowered_by_power(const Device& device, double exponent) {
  const auto at = [&](double watts) {
    if (!is_measured(device) || device.power.value <= 0 || device.power.value >= watts) return 1.0;
    return std::pow(watts / device.power.value, exponent);
  };
  switch (generation_of(device)) {
    case Generation::kAmpere: return at(400);
    case Generation::kHopper: return at(700);
    case Generation::kBlackwell: return at(1000);
    case Generation::kCpu:
    case Generation::kCdna:
    case Generation::kVolta: return 1;
  }
  return 1;
}

// Dynamic power grows with clock times voltage squared, and voltage with the clock, so the clock
// goes with the cube root of that power: A100 PCIe, 300 W, over SXM, 400 W: 0.91 where the best
// product that ml-engineering's finder reports is 0.93 of the other's.
constexpr double kCubeRoot = 1.0 / 3;
// Hopper's products lose more, since memory, links and idle circuits have their share first and
// voltage has a floor: at 500 W of 700 products of (8192, 8192, 8192), (65536, 8192, 7168) and
// (65536, 3584, 8192) reach 585, 575 and 546 TFLOP/s in bf16 and 1126, 1083 and 1141 in fp8
// (pytorch/FBGEMM pull request 2546), 0.77 of what the fits say at 700 W in the mean, 0.74 to 0.79.
constexpr double kHopperProducts = 0.78;

double power_exponent_of_products(const Device& device) {
  return generation_of(device) >= Generation::kHopper ? kHopperProducts : kCubeRoot;
}

// On Hopper the sums of 8-bit products lose digits unless partial ones are moved to fp32 registers,
// which gradients are computed with and forward passes without (Transformer Engine's DelayedScaling
// recipe, torchao's Float8LinearConfig). Products without that are what the fits are made of; they
// are 1.1 to 1.2 times as fast (pytorch/ao issue 2377), with cuBLAS 13 1.03 to 1.04 times
// (reports/gpu/h100/torch-rows.json, medians of 24 on H200 and H100). Blackwell has no such choice.
double promoted(Cublas cublas) {
  switch (cublas) {
    case Cublas::k12: return 1.15;
    case Cublas::k13: return 1.035;
  }
  return 1;
}
double promoted_sums(const MatMul& op, const Device& device, const Kernels& kernels) {
  if (op.in != DType::kFp8) return 1;
  if (kernels.amax == Fusion::kBlocks) return block_scaled_product(op, device);
  const bool exact = op.pass != Pass::kForward && generation_of(device) == Generation::kHopper;
  return exact ? promoted(kernels.cublas) : 1;
}

// Experts one after the other take the sum of their times, although GroupedLinear deals them to
// four streams: 16 of (2,048, 768, 2,048) on H100 554 TFLOP/s, 8 of (4,096, 768, 2,048) 628
// (TransformerEngine pull request 2045, TE 2.7); the sums of our times say 546 and 643, one product
// of all 703 and 716.
Cost experts_cost(MatMul op, const Device& device, const Kernels& kernels, double slowdown) {
  if (op.served && served_experts(op, device) != nullptr)
    return served_experts_cost(op, device, slowdown);
  if (kernels.experts == Fusion::kFused || op.batch <= 1) return gemm_cost(op, device, slowdown);
  const auto experts = static_cast<double>(op.batch);
  op.batch = 1;
  return experts * gemm_cost(op, device, slowdown);
}

Cost one_product_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const double slowdown = between_other_kernels(device) *
                          lowered_by_power(device, power_exponent_of_products(device)) *
                          promoted_sums(op, device, kernels);
  const KernelChain sum = gradient_sum_chain(op, kernels);
  MatMul alone = op;
  if (sum.kernels > 0) {
    alone.accumulate = false;
    alone.out = written_alone(op);
  }
  return experts_cost(alone, device, kernels, slowdown) + chain_cost(rescale_chain(alone), device) +
         chain_cost(sum, device);
}

/// Norms and sums over rows that PyTorch's own kernels do.
std::optional<Cost> torch_rows_cost(const Compute& op, const Device& device,
                                    const Kernels& kernels) {
  if (!has_torch_rows(device)) return std::nullopt;
  if (const auto* norm = std::get_if<Norm>(&op); norm && is_native(*norm, kernels))
    return torch_norm_cost(*norm, device);
  if (const auto* heads = std::get_if<HeadNorm>(&op);
      heads && is_native(norm_of_heads(*heads), kernels))
    return torch_norm_cost(*heads, device);
  if (const auto* bias = std::get_if<BiasGrad>(&op); bias && kernels.bias != Fusion::kFused)
    return torch_bias_gradient_cost(*bias, device);
  return std::nullopt;
}

/// Of a weight's gradient with a bias, which the product does not sum: dy[k, m].
Cost bias_gradient_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const bool here = op.bias && !is_forward(op.pass) && op.pass != Pass::kInputGrad;
  if (!here) return {};
  return torch_rows_cost(BiasGrad{op.k, op.m, op.in}, device, kernels).value_or(Cost());
}

Cost product_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const Products products = as_run(op, kernels);
  Cost cost = chain_cost(input_sum_chain(op, kernels), device);
  for (int i = 0; i < products.count; ++i) {
    const MatMul& one = products.each[static_cast<std::size_t>(i)];
    cost = cost + one_product_cost(one, device, kernels) + bias_gradient_cost(one, device, kernels);
  }
  return cost;
}

bool finds_scales_of_blocks(const Compute& op, const Kernels& kernels) {
  const Cast* cast = std::get_if<Cast>(&op);
  return kernels.amax == Fusion::kBlocks && cast != nullptr && finds_scale(*cast);
}

/// What is known of Adam on a processor is of it as a whole.
KernelChain chain_on(const Device& device, const Compute& op, const Kernels& kernels) {
  const bool whole = std::holds_alternative<Adam>(op) && generation_of(device) == Generation::kCpu;
  return whole ? KernelChain() : eager_chain(op, kernels);
}

/// On a device that is as fast as those that constants were fitted to.
Cost typical_cost(const Compute& op, const Device& device, const Kernels& kernels) {
  if (const auto* matmul = std::get_if<MatMul>(&op)) return product_cost(*matmul, device, kernels);
  if (const auto* found = std::get_if<Attention>(&op)) {
    Attention attention = *found;
    if (kernels.attention != FlashKernel::kNewest) attention.kernel = kernels.attention;
    const KernelChain copies = packing_chain(attention, kernels);
    const KernelChain repeated = shared_keys_chain(attention, kernels);
    if (repeated.kernels > 0) attention.kv_heads = attention.heads;
    const KernelChain merged = merge_chain(attention, kernels);
    if (merged.kernels > 0) attention.ring_step = 0;  // its kernel merges nothing
    Cost cost = attention_cost(attention, device, kernels.softmax);
    cost.share[kPeakFlops] = cost.share[kPeakFlops] * lowered_by_power(device, kCubeRoot);
    return cost + chain_cost(copies, device) + chain_cost(repeated, device) +
           chain_cost(merged, device);
  }
  if (const auto* cast = std::get_if<Cast>(&op); cast && is_to_nvfp4(*cast))
    return nvfp4_cast_cost(*cast, device);
  if (is_of_recurrence(op)) return recurrence_cost(op, device);
  if (const std::optional<Cost> own = torch_rows_cost(op, device, kernels)) return *own;
  const KernelChain chain = chain_on(device, op, kernels);
  Cost cost = chain.kernels > 0 ? chain_cost(chain, device) : memory_bound_cost(op, device);
  if (finds_scales_of_blocks(op, kernels)) cost = block_scaled_cast(device) * cost;
  if (const auto* combine = std::get_if<Combine>(&op))
    cost = cost + chain_cost(expert_bias_chain(*combine, kernels), device);
  cost = cost + chain_cost(expert_padding_chain(op, kernels), device);
  if (const auto* activation = std::get_if<Activation>(&op))
    cost = cost + chain_cost(clamp_of(*activation, kernels), device);
  if (const auto* embedding = std::get_if<Embedding>(&op))
    cost = cost + chain_cost(table_gradient_chain(*embedding, kernels), device);
  return cost;
}

// Adam on the processors of a server reaches less of their memory bandwidth than a copy does (0.75,
// efficiency.cpp): 0.5. DeepSpeed's CPU-Adam moves its 30 bytes per parameter at 0.39 to 0.53 of
// the 256 GB/s of a DGX-2's two (0.22, 0.51, 1.03, 2.41 and 2.57 s for 1, 2, 4, 8 and 10 billion
// parameters: Ren et al. 2021, table 4).
constexpr double kAdamOverCopy = 0.5 / 0.75;

// Where each rank has as many threads as the node has cores they wait for one another: Qwen2.5-3B
// with ZeRO-Offload on two A100 of a host of 128 cores takes 3.084 s a step without
// --bind_cores_to_rank and 2.383 s with it (DeepSpeed pull request 7474); Adam of 3.09 billion
// parameters takes 0.422 s of the latter by the rate above, on two EPYC 7742.
constexpr double kUnboundAdam = 1 + (3.084 - 2.383) / 0.422;

/// What one of `sharers` ranks has of a processor when all of them are at work.
Device share_of(Device processor, std::int64_t sharers) {
  const double n = static_cast<double>(sharers);
  processor.memory_bandwidth = processor.memory_bandwidth / n;
  for (FlopsPerSecond* peak :
       {&processor.peak_fp64, &processor.peak_fp32, &processor.peak_bf16, &processor.peak_fp16,
        &processor.peak_fp8, &processor.peak_fp4, &processor.vector_fp32}) {
    *peak = *peak / n;
  }
  processor.l2_cache = Bytes(processor.l2_cache.value / sharers);
  return processor;
}

/// All of it to each of the others, or from each its part.
Cost peer_copies_cost(const Collective& op, const GroupPlacement& group) {
  if (group.ranks <= 1) return {};
  const std::int64_t parts = op.kind == CollectiveKind::kBroadcast ? 1 : group.ranks;
  const Path& path = group.nodes > 1 ? group.inter : group.intra;
  return static_cast<double>(group.ranks - 1) * message_cost(Bytes(op.bytes().value / parts), path);
}

}  // namespace

Cost CostModel::compute(const Compute& op, const Device& device) const {
  if (is_done_elsewhere(op, kernels)) return {};
  if (calibration != nullptr && memory_traffic(op).value > 0) {
    const std::optional<Cost> fitted = fitted_cost(op, *calibration, device);
    const bool alone = std::holds_alternative<MatMul>(op) && !calibration->in_steps;
    if (fitted) return (alone ? between_other_kernels(device) : 1) * *fitted;
  }
  Cost cost = typical_cost(op, device, kernels);
  if (generation_of(device) != Generation::kCpu) {
    cost.share[kPeakFlops] = cost.share[kPeakFlops] * slowest;
  }
  return cost;
}

Bytes CostModel::memory_bytes(const Compute& op, const Device& device) const {
  if (const auto* cast = std::get_if<Cast>(&op); cast && is_to_nvfp4(*cast))
    return nvfp4_cast_bytes(*cast);
  if (is_done_elsewhere(op, kernels)) return {};
  const KernelChain chain = chain_on(device, op, kernels);
  return chain.kernels > 0 ? chain.bytes : uncached(memory_traffic(op), device);
}

Cost CostModel::on_processor(const Compute& op, std::int64_t sharers) const {
  require_processor(machine);
  Device processor = share_of(machine.processor, sharers);
  if (std::holds_alternative<Adam>(op)) {
    const double wait = machine.bound_cores || sharers == 1 ? 1 : kUnboundAdam;
    processor.memory_bandwidth = processor.memory_bandwidth * (kAdamOverCopy / wait);
  }
  Cost cost = compute(op, processor);
  for (const auto& [of_device, of_host] :
       {std::pair(kPeakFlops, kHostFlops), std::pair(kMemoryBandwidth, kHostMemory)}) {
    std::swap(cost.share[of_device], cost.share[of_host]);
  }
  return cost;
}

CollectiveCost CostModel::collective(const Collective& op, const GroupPlacement& group,
                                     const Cluster& cluster) const {
  if (op.servers.any()) return push_pull_cost(op.bytes(), op.servers, group, cluster);
  const Device& device = cluster.kind(group.kind).device;
  if (kernels.exchange == Dispatcher::kDeepEp) {
    if (const std::optional<Cost> own = deepep_cost(op, group, device))
      return {*own, Algorithm::kDeepEp, Protocol::kSimple};
  }
  if (one_peer_at_a_time && op.axes.has(Axis::kTp))
    return {peer_copies_cost(op, group), Algorithm::kPeerCopies, Protocol::kSimple};
  CollectiveCost nccl = collective_cost(op.kind, op.bytes(), group, cluster, selection);
  if (const std::int64_t times = all_reduces_of(op, kernels); times > 1)
    nccl.cost = static_cast<double>(times) * nccl.cost;
  if (const KernelChain copy = sequence_chain(op, kernels); copy.kernels > 0)
    nccl.cost = nccl.cost + stream_cost(copy.bytes, copy.kernels, StreamKind::kCopy, device);
  if (engine_all_reduce == EngineReduce::kNone || op.kind != CollectiveKind::kAllReduce)
    return nccl;
  const std::optional<Cost> own = one_shot_cost(engine_all_reduce, op.bytes(), group, device);
  if (!own || own->total() >= nccl.cost.total()) return nccl;
  return {*own, Algorithm::kOneShot, Protocol::kSimple};
}

Cost CostModel::transfer(Bytes bytes, const Path& path) const { return message_cost(bytes, path); }

Cost CostModel::copy(const Copy& op, const NodeKind& node, std::int64_t sharers) const {
  if (op.from != Place::kStorage && op.to != Place::kStorage) return host_copy_cost(op.bytes, node);
  require_storage(machine);
  const bool writes = op.to == Place::kStorage && machine.storage_write_bandwidth.value > 0;
  const BytesPerSecond all = writes ? machine.storage_write_bandwidth : machine.storage_bandwidth;
  return storage_cost(op.bytes, all / static_cast<double>(sharers));
}

}  // namespace plait
