#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/human.h"
#include "reports/serving.h"
#include "reports/table.h"

namespace plait {
namespace {

/// Where host memory has less room than any device, or all of the cache.
std::string host_cache_words(const CacheCapacity& c) {
  return fmt::format("in host memory: {} tokens ({}, {} per token and node)", human_count(c.tokens),
                     human_bytes(c.host->bytes_per_token.value * c.tokens),
                     human_bytes(c.host->bytes_per_token.value));
}

/// None of it is on devices.
bool cached_on_host(const CacheCapacity& c) {
  return c.host && c.stages[c.tightest].block_bytes.value == 0;
}

std::string cache_words(const CacheCapacity& c, const EngineLimits& limits) {
  const StageRoom& room = c.stages[c.tightest];
  if (c.host_decides || cached_on_host(c)) return host_cache_words(c);
  if (room.state_bytes.value == 0) {
    return fmt::format("GPU KV cache size: {} tokens ({}, {} per token and device)",
                       human_count(c.tokens), human_bytes(room.bytes_per_token.value * c.tokens),
                       human_bytes(room.bytes_per_token.value));
  }
  return fmt::format(
      "{} blocks of {} tokens, or a state, of one layer ({}); {} per token and {} "
      "per sequence and device",
      human_count(c.blocks), human_count(limits.block_size), human_bytes(room.cache.value),
      human_bytes(room.bytes_per_token.value), human_bytes(room.state_bytes.value));
}

/// The pool that is stated has no room, though a sequence has.
bool is_too_large_a_pool(const CacheCapacity& c, const EngineLimits& limits) {
  return limits.cache_tokens > c.tokens && c.tokens >= limits.max_context;
}

/// What makes room; whose fields they are, the scenario's or a pool's, is above.
std::string cures_words(const ServingReport& r, const CacheCapacity& c,
                        const EngineLimits& limits) {
  const std::string& release = r.narrower_release;
  if (c.lacks_host_memory()) {
    return "a processor with more memory (cluster.processor), or narrower weights; "
           "serving.layers.pinned = false maps llama.cpp's file, of which what has no room is read "
           "from the drive";
  }
  if (is_too_large_a_pool(c, limits)) {
    return fmt::format(
        "kv_cache_tokens of {} or less, or none, takes what there is; narrower "
        "weights or a larger tp or pp leave room for more",
        c.tokens);
  }
  if (c.lacks_by_choice(limits)) {
    return fmt::format(
        "a kv_cache_tokens of {} or more takes them (memory leaves room for {} tokens), or "
        "max_model_len = {} shorter requests",
        limits.max_context, human_count(c.room), c.tokens);
  }
  const std::string tried =
      r.cures.empty() ? "" : fmt::format("it fits with {}; ", fmt::join(r.cures, ", or "));
  const std::string shorter =
      c.tokens == 0 ? "" : fmt::format("; max_model_len = {} takes shorter requests", c.tokens);
  if (limits.engine == ServingEngine::kLlamaCpp) {
    return tried +
           "serving.layers.gpu_layers = -1 keeps on devices what fits, host_experts = -1 experts "
           "(--n-cpu-moe); a smaller kv_cache_tokens or max_model_len, or a narrower kv_cache, "
           "takes less" +
           shorter;
  }
  const std::string own =
      release.empty() ? "" : fmt::format(" (the model is published with {})", release);
  return tried +
         "a larger tp or pp shares weights among more devices; serving.weights, "
         "serving.expert_weights and serving.products make them narrower" +
         own + shorter;
}

/// "310.1 GiB of 64.0 GiB in host memory on the fullest node, and 8.0 GiB of cache".
std::vector<Line> host_room_lines(const CacheCapacity& c) {
  if (!c.host) return {};
  const NodeUse& use = c.host->use;
  std::string text = human_bytes(use.memory.value);
  if (use.capacity.value > 0) text += " of " + human_bytes(use.capacity.value);
  text += " in host memory on the fullest node";
  if (c.host->needed.value > 0) text += ", and the cache";
  return {{{pad_right("", kServingLabel)},
           {std::move(text), c.host->is_short() ? Ink::kBad : Ink::kPlain}}};
}

std::string used_words(const CacheCapacity& c) {
  return fmt::format("{} of weights, activations and process",
                     human_bytes(c.stages[c.tightest].use.bytes().value));
}

ServingShortage shortage_of(const ServingReport& r, const CacheCapacity& c,
                            const EngineLimits& limits) {
  return {lacking_words(c, limits, used_words(c) + " leave room"), cures_words(r, c, limits)};
}

std::vector<Line> capacity_lines(const ServingReport& r, const CacheCapacity& c,
                                 const EngineLimits& limits, bool fits) {
  const std::string used = used_words(c);
  if (!fits) {
    const ServingShortage lack = shortage_of(r, c, limits);
    return {{{"DOES NOT FIT  ", Ink::kBad}, {lack.reason}}, serving_line("", lack.cure)};
  }
  std::vector<Line> out = {
      {{pad_right("FITS", kServingLabel), Ink::kGood},
       {used + (cached_on_host(c) ? " per device" : " per device, and the cache")}}};
  append(out, host_room_lines(c));
  append(out,
         {serving_line("cache", cache_words(c, limits)),
          serving_line("", fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x",
                                       human_count(limits.max_context), c.concurrency(limits)))});
  return out;
}

}  // namespace

std::vector<Line> capacity_lines(const ServingReport& r) {
  if (r.pools.empty()) return capacity_lines(r, r.capacity, r.limits, r.fits);
  std::vector<Line> out;
  for (const PoolReport& p : r.pools) {
    if (!out.empty()) out.emplace_back();
    out.push_back(serving_line(
        p.name,
        fmt::format("{} of {} on {}",
                    p.replicas == 1 ? "an instance" : human_count(p.replicas) + " instances",
                    p.instance, human_plural(p.devices, "device")),
        Ink::kBold));
    append(out, capacity_lines(r, p.capacity, p.limits, p.fits));
  }
  return out;
}

ServingShortage shortage_of(const ServingReport& r) {
  const auto pool = std::ranges::find(r.pools, false, &PoolReport::fits);
  if (pool == r.pools.end()) return shortage_of(r, r.capacity, r.limits);
  ServingShortage out = shortage_of(r, pool->capacity, pool->limits);
  out.reason = pool->name + ": " + out.reason;
  return out;
}

std::string lacking_words(const CacheCapacity& c, const EngineLimits& limits,
                          const std::string& leaves) {
  if (c.lacks_host_memory()) {
    const std::int64_t cache = c.host->needed.value;
    return fmt::format("needs {}{} in host memory, which has {}",
                       human_bytes(c.host->use.memory.value),
                       cache > 0 ? fmt::format(" and {} of cache", human_bytes(cache)) : "",
                       human_bytes(c.host->use.capacity.value));
  }
  const bool by_choice = c.lacks_by_choice(limits);
  const std::string has =
      by_choice ? fmt::format("kv_cache_tokens is {}", human_count(limits.cache_tokens))
                : fmt::format("{} for {} tokens", leaves, human_count(c.room));
  if (is_too_large_a_pool(c, limits)) {
    return fmt::format("{}; kv_cache_tokens asks for {}", has, human_count(limits.cache_tokens));
  }
  return fmt::format("{}; a sequence has up to {}", has, human_count(limits.max_context));
}

}  // namespace plait
