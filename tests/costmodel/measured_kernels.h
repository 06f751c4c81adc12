#pragma once
// Measured products and attention as rows of the fits: AIConfigurator's tables.

#include <tuple>

#include "core/median.h"
#include "tests/costmodel/fit/attention.h"
#include "tests/costmodel/fit/gemm.h"
#include "tests/costmodel/measured_collectives.h"

namespace plait {

/// Of the pairs (n, k), three of ten are held out, by a fixed hash.
inline bool is_held_out(std::int64_t n, std::int64_t k) {
  auto h = static_cast<std::uint64_t>(n) * 0x9E3779B97F4A7C15u ^
           static_cast<std::uint64_t>(k) * 0xC2B2AE3D27D4EB4Fu;
  h = (h ^ (h >> 31)) * 0xD6E8FEB86659FD93u;
  return (h >> 32) % 10 < 3;
}

/// Products of one type: which tables have them, by what name, and the bytes of the cast beside
/// each of the first operand's elements.
struct GemmTables {
  const char* files;
  std::string type;
  std::int64_t sixteenths;  // of a byte
};
inline GemmTables gemm_tables(DType dtype) {
  if (dtype == DType::kFp8) return {"gemm_perf__trtllm", "fp8", 3 * 16};
  if (dtype == DType::kNvfp4) return {"gemm_perf", "nvfp4", 2 * 16 + 9};
  return {"gemm_perf", "bfloat16", 0};
}

/// One row for each shape with n and k from 64 up: the median over the engines in bf16 and nvfp4,
/// TensorRT-LLM's time in fp8.
inline std::vector<GemmRow> gemm_rows(const MeasuredMachine& machine, DType dtype,
                                      const std::filesystem::path& kernels) {
  const GemmTables from = gemm_tables(dtype);
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<double>> times;
  for (const auto& table : tables(kernels / "aiconfigurator" / machine.folder, from.files)) {
    for (const Record& r : read_table(table)) {
      const auto type = r.find("gemm_dtype");  // a table of bf16 alone does not name it
      if ((type == r.end() ? "bfloat16" : type->second) != from.type) continue;
      const std::int64_t n = std::stoll(r.at("n")), k = std::stoll(r.at("k"));
      if (std::min(n, k) >= 64)
        times[{std::stoll(r.at("m")), n, k}].push_back(std::stod(r.at("latency_us")));
    }
  }
  std::vector<GemmRow> rows;
  for (const auto& [key, us] : times) {
    const auto& [m, n, k] = key;
    rows.push_back({{.m = m, .n = n, .k = k, .in = dtype},
                    Seconds(median(us) * 1e-6),
                    Bytes(from.sixteenths * m * k / 16)});
  }
  return rows;
}

/// The committed constants, with what casts took in the tables.
inline GemmResult committed_gemm(const Device& device, DType dtype) {
  GemmResult result{*tiled_gemm(device, dtype), 0, 0};
  if (dtype == DType::kFp8) {
    const bool hopper = generation_of(device) == Generation::kHopper;
    result.cast_us = hopper ? 9.6 : 12;
    result.cast_bandwidth = hopper ? 0.386 : 0.323;
  }
  if (dtype == DType::kNvfp4) {
    const StreamFit cast = stream_fit(device, StreamKind::kQuantise);
    result.cast_us = cast.fixed.value * 1e6, result.cast_bandwidth = cast.bandwidth;
  }
  return result;
}

struct AttentionTable {
  const char* name;  // beginning of the file's name
  bool causal;
  Record where;  // fields that must have these values
};
/// Tables of one kernel in bf16 as SGLang calls it, which adds least to the kernel:
/// FlashAttention-2 on A100, -3 on H100, TensorRT-LLM's on B200. vLLM's encoders are not causal.
inline std::vector<AttentionTable> attention_tables(const MeasuredMachine& machine) {
  const char* causal = "context_attention_perf__sglang";
  const auto whole = [](const char* kernel) {
    return Record{{"kernel_source", kernel}, {"window_size", "0"}, {"kv_cache_dtype", "bfloat16"}};
  };
  switch (generation_of(machine.device)) {
    case Generation::kHopper:
      return {{causal, true, whole("fa3")}, {"encoder_attention_perf__vllm", false, {}}};
    case Generation::kBlackwell: return {{causal, true, whole("trtllm_mha")}};
    default: return {{causal, true, {}}};
  }
}

inline bool has_fields(const Record& r, const Record& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& field) {
    const auto found = r.find(field.first);
    return found != r.end() && found->second == field.second;
  });
}
inline std::int64_t number_of(const Record& r, const char* field, std::int64_t missing) {
  const auto found = r.find(field);
  return found == r.end() ? missing : std::stoll(found->second);
}

/// One row for each shape with at least 128 tokens, 4 heads (a rank in training hardly has fewer)
/// and head dimensions up to 256.
inline std::vector<AttentionRow> attention_rows(const MeasuredMachine& machine,
                                                const std::filesystem::path& kernels) {
  using Key =
      std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;
  std::map<Key, std::vector<double>> times;
  for (const AttentionTable& t : attention_tables(machine)) {
    for (const auto& table : tables(kernels / "aiconfigurator" / machine.folder, t.name)) {
      for (const Record& r : read_table(table)) {
        if (!has_fields(r, t.where)) continue;
        const auto number = [&](const char* field, std::int64_t missing) {
          return number_of(r, field, missing);
        };
        const std::int64_t s = number("isl", 0), heads = number("num_heads", 0);
        const std::int64_t d = number("head_dim", 128);  // a table of 128 alone does not name it
        const auto type = r.find("attn_dtype");
        if (s < 128 || heads < 4 || d > 256 || (type != r.end() && type->second != "bfloat16"))
          continue;
        times[{number("batch_size", 0), s, heads, number("num_key_value_heads", heads), d,
               t.causal}]
            .push_back(std::stod(r.at("latency_us")));
      }
    }
  }
  std::vector<AttentionRow> rows;
  for (const auto& [key, us] : times) {
    const auto& [batch, s, heads, kv_heads, d, causal] = key;
    const Attention op{.batch = batch,
                       .heads = heads,
                       .kv_heads = kv_heads,
                       .seq_q = s,
                       .seq_kv = s,
                       .head_dim = d,
                       .causal = causal};
    rows.push_back(
        {op, Seconds(median(us) * 1e-6), Bytes(causal ? 8 * batch * s * kv_heads * d : 0)});
  }
  return rows;
}
/// Of the combinations of heads, key heads and head dimension, three of ten are held out.
inline bool is_held_out(const Attention& op) {
  return is_held_out(op.heads * 1024 + op.kv_heads, op.head_dim);
}
inline AttentionResult committed_attention(const Device& device) {
  AttentionResult result{attention_fit(device, FlashKernel::kNewest), 0};
  switch (generation_of(device)) {
    case Generation::kHopper: result.cache_bandwidth = 0.85; break;
    case Generation::kBlackwell: result.cache_bandwidth = 0.94; break;
    default: result.cache_bandwidth = 0.663;
  }
  return result;
}

}  // namespace plait
