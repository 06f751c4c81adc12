#include "prediction/deployment.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "prediction/costs.h"
#include "serving/handover_summary.h"
#include "serving/layer_maps.h"
#include "topologies/variation.h"

namespace plait {
namespace {

/// Where replicas are, and how they batch.
struct Replicas {
  Mesh mesh;
  std::vector<std::int64_t> placement;
  EngineLimits limits;
  std::optional<double> slowest = {};  // of the devices of one, where the scenario does not say
};

/// What the kernels of an engine are unlike others' in.
struct EngineKernels {
  bool fused_elementwise, fused_experts;  // ServingPrecision
  EngineReduce small_sums;                // unless it is told to use NCCL
};
EngineKernels kernels_of(ServingEngine engine) {
  switch (engine) {
    case ServingEngine::kVllm: return {false, true, EngineReduce::kVllm};
    case ServingEngine::kTensorRtLlm: return {true, true, EngineReduce::kTensorRtLlm};
    // Its --split-mode tensor reduces by NCCL (docs/multi-gpu.md at 5815cb84, "With NCCL").
    case ServingEngine::kLlamaCpp: return {false, false, EngineReduce::kNone};
  }
  return {};
}

ServedModel served_model(const Scenario& s, const Replicas& replicas) {
  ServedModel served;
  const EngineLimits& limits = replicas.limits;
  served.model = s.model;
  served.precision = s.serving->precision;
  served.layout.mesh = replicas.mesh;
  served.cluster = s.cluster;
  served.costs = costs_of(s);
  if (replicas.slowest) served.costs.slowest = *replicas.slowest;
  const EngineKernels engine = kernels_of(limits.engine);
  served.precision.fused_elementwise = engine.fused_elementwise;
  served.precision.fused_experts = engine.fused_experts;
  if (s.serving->expert_parallel) {
    served.layout.experts = ExpertSharing::kDealt;
  } else if (s.serving->divide_experts && s.model.experts > 0) {
    served.layout.experts = ExpertSharing::kDivided;
  }
  served.layout.row_split = s.serving->layers.split == LayerSplit::kRow;
  served.costs.one_peer_at_a_time = served.layout.row_split;
  if (limits.own_all_reduce) served.costs.engine_all_reduce = engine.small_sums;
  served.placement = replicas.placement;
  served.graphs = limits.graphs;
  const LayerRule& rule = s.serving->layers;
  served.layout.map = deal_layers(served, rule, limits, s.memory);
  if (rule.leaves_devices() && !rule.pinned) copy_pageable(served.cluster);
  served.mapped_weights = rule.is_mapped();
  return served;
}

Replicas alike(const Scenario& s, const EngineLimits& limits) {
  return {s.strategy.mesh, s.placement, limits};
}

/// On the devices from `first` on, in order.
Replicas replicas_of(const Scenario& s, const EnginePool& pool, std::int64_t first) {
  Replicas out;
  out.mesh[Axis::kTp] = pool.tp, out.mesh[Axis::kPp] = pool.pp, out.mesh[Axis::kDp] = pool.dp;
  out.placement.resize(static_cast<std::size_t>(pool.devices()));
  std::iota(out.placement.begin(), out.placement.end(), first);
  out.limits = pool.limits;
  out.slowest = slowest_device(s.cluster.variation, pool.tp * pool.pp);
  return out;
}

std::string layout_words(const Mesh& mesh) {
  std::string out;
  for (const Axis a : {Axis::kTp, Axis::kPp, Axis::kDp}) {
    if (mesh[a] > 1) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(a), mesh[a]);
  }
  return out.empty() ? "one device" : out;
}

/// What a plan says of the strategy is of the pool: its fields stand there.
InputError of_pool(const InputError& error, const std::string& pool) {
  const std::string strategy = "strategy", path = "serving.disaggregated." + pool;
  InputError::Text text = error.text();
  if (!text.where.path.starts_with(strategy)) return error;
  for (std::string* words : {&text.where.path, &text.expected, &text.cure}) {
    for (std::size_t at = 0; (at = words->find(strategy, at)) != std::string::npos;) {
      words->replace(at, strategy.size(), path);
      at += path.size();
    }
  }
  return InputError(std::move(text));
}

void emplace(std::optional<PricedPool>& pool, const char* name, const Scenario& s,
             const Replicas& replicas, const Speculation& speculation) {
  try {
    pool.emplace(served_model(s, replicas), replicas.limits, speculation, s.memory);
  } catch (const InputError& error) {
    throw of_pool(error, name);
  }
}

std::int64_t replicas_in(const PricedPool& pool) { return pool.model().layout.mesh[Axis::kDp]; }

PoolReport pool_report(const char* name, const PricedPool& pool) {
  const Mesh& mesh = pool.model().layout.mesh;
  Mesh one = mesh;
  one[Axis::kDp] = 1;
  return {
      name,          layout_words(mesh), layout_words(one), mesh.world_size(), replicas_in(pool),
      pool.limits(), pool.capacity(),    pool.fits()};
}

}  // namespace

Deployment::Deployment(const Scenario& s, const Serving& serving)
    : apart_(serving.disaggregation.any()), first_token_(serving.disaggregation.first_token) {
  if (!apart_) {
    generating_.emplace(served_model(s, alike(s, serving.limits)), serving.limits,
                        serving.speculation, s.memory);
    return;
  }
  const EnginePool &p = serving.disaggregation.prefill, &d = serving.disaggregation.decode;
  emplace(prefill_, "prefill", s, replicas_of(s, p, 0), Speculation{});
  emplace(generating_, "decode", s, replicas_of(s, d, p.devices()), serving.speculation);
  routes_ = kv_routes(prefill_->model(), generating_->model());
}

Service Deployment::serve(const std::vector<Request>& requests, const Load& load,
                          const Generated& generated) {
  const StepPrice price = [&](const Step& step, std::size_t replica) -> const StepTime& {
    if (generated) generated(step.sampled);
    return generating_->price(step, replica);
  };
  const ServerOptions options = generating_->options(load.seed);
  if (!apart_) return plait::serve(requests, load, options, price);
  const StepPrice of_prompts = [&](const Step& step, std::size_t replica) -> const StepTime& {
    return prefill_->price(step, replica);
  };
  const ServerOptions prefill = prefill_->options(load.seed);
  return plait::serve(requests, load, {prefill, options, of_prompts, price, routes_, first_token_});
}

void Deployment::describe(ServingReport& r) const {
  r.limits = generating_->limits(), r.capacity = generating_->capacity();
  r.replicas = replicas_in(*generating_);
  r.fits = generating_->fits() && (!apart_ || prefill_->fits());
  const ServingLayout& layout = generating_->model().layout;
  r.layout = layout_words(layout.mesh) + words_of(layout);
  if (!apart_) return;
  r.pools = {pool_report("prefill", *prefill_), pool_report("decode", *generating_)};
  r.layout = fmt::format("prefill: {}; decode: {}", r.pools[0].layout, r.pools[1].layout);
}

void Deployment::summarize(ServingReport& r, const std::vector<Request>& requests) const {
  r.summary = plait::summarize(r.service, requests, r.kinds, r.devices, r.replicas, r.slo);
  r.shapes = generating_->shapes() + (apart_ ? prefill_->shapes() : 0);
  if (!apart_) return;
  r.handovers = summarize_handovers(r.service, routes_.bytes_per_token, replicas_in(*prefill_),
                                    replicas_in(*generating_));
  const auto of = [&](std::size_t pool) { return static_cast<double>(r.pools[pool].devices); };
  r.summary.devices_busy = (r.handovers->prefill_busy * of(0) + r.handovers->decode_busy * of(1)) /
                           static_cast<double>(r.devices);
}

}  // namespace plait
