#include "scenarios/dialects/vllm.h"

#include <algorithm>

#include "core/json.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::vllm {
namespace {

struct TypeName {
  std::string_view vllm, ours;
};
constexpr TypeName kTypes[] = {
    {"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"},
    {"half", "fp16"},     {"float", "fp32"},
};

/// The model's repository or folder: behind "serve", or behind --model.
std::string model_of(Arguments& args) {
  if (const auto named = args.text("--model")) return *named;
  const auto& words = args.leading();
  const auto serve = std::ranges::find(words, "serve", &ShellWord::text);
  if (serve == words.end() || serve + 1 == words.end() || (serve + 1)->unknown) return "";
  return (serve + 1)->text;
}

/// `--dtype` and what serving says besides.
void write_serving(ExportDraft& d, const Serving& s) {
  const auto type = [](DType t) {
    return std::string(std::ranges::find(kTypes, name_of(t), &TypeName::ours)->vllm);
  };
  d.copy("--data-parallel-size", "strategy.dp");
  d.set("--dtype", type(s.precision.activations));
  if (s.precision.fp8_products) d.set("--quantization", "fp8");
  const bool follows = s.precision.kv_cache == s.precision.activations;
  d.set("--kv-cache-dtype", follows ? "auto" : std::string(name_of(s.precision.kv_cache)));
  d.copy("--max-num-batched-tokens", "serving.engine.max_num_batched_tokens");
  d.copy("--max-num-seqs", "serving.engine.max_num_seqs");
  d.copy("--block-size", "serving.engine.block_size");
  d.copy("--max-model-len", "serving.engine.max_model_len");
  d.copy("--gpu-memory-utilization", "serving.engine.gpu_memory_utilization");
  if (!s.limits.chunked_prefill) d.set("--no-enable-chunked-prefill");
  if (s.expert_parallel) d.set("--enable-expert-parallel");
  if (s.limits.async_scheduling) d.set("--async-scheduling");
  if (!s.limits.graphs) d.set("--enforce-eager");
  if (!s.limits.own_all_reduce) d.set("--disable-custom-all-reduce");
  d.say({"serving.dtype", "serving.fp8_products", "serving.kv_cache", "serving.expert_parallel",
         "serving.engine.async_scheduling", "serving.engine.chunked_prefill",
         "serving.engine.cuda_graphs", "serving.engine.custom_all_reduce"});
}

}  // namespace

void write(ExportDraft& d) {
  const std::string_view hub = hub_name_of(d.scenario.model);
  d.set("", hub.empty() ? "\"$MODEL\"" : std::string(hub));
  if (!hub.empty()) d.say({"model"});
  d.copy("--tensor-parallel-size", "strategy.tp");
  d.copy("--pipeline-parallel-size", "strategy.pp");
  if (d.scenario.serving) return write_serving(d, *d.scenario.serving);
  const std::string_view type = name_of(d.scenario.workload.precision.weights);
  d.set("--dtype", std::string(std::ranges::find(kTypes, type, &TypeName::ours)->vllm));
  d.say({"workload.precision.weights"});
}

Imported read(const std::string& text, const std::string& file) {
  Arguments args(shell_words(text, file), file);
  Imported out;
  const std::string model = model_of(args);
  if (const std::string preset = preset_of_hub_name(model); !preset.empty()) {
    out.give("model", json_quote(preset), args.line("--model"));
  } else if (!model.empty()) {
    warn_unread({"the model " + model + ", which is no preset"}, out.warnings);
  }
  const auto size = [&](const char* option, const char* path) {
    out.give(path, std::to_string(args.integer(option).value_or(1)), args.line(option));
  };
  size("--tensor-parallel-size", "strategy.tp");
  size("--pipeline-parallel-size", "strategy.pp");
  out.give("strategy.fsdp", "1");
  out.give("strategy.zero_stage", "0");
  std::vector<std::string> names = {"auto"};
  for (const TypeName& t : kTypes) names.emplace_back(t.vllm);
  const std::string type = args.one_of("--dtype", names).value_or("auto");
  const auto* found = std::ranges::find(kTypes, type, &TypeName::vllm);
  if (found != std::end(kTypes)) {
    out.give("workload.precision.weights", json_quote(found->ours), args.line("--dtype"));
  }
  args.report_unread(out.warnings);
  return out;
}

}  // namespace plait::vllm
