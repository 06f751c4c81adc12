#include "scenarios/dialects/llama_cpp/ollama.h"

#include "scenarios/dialects/llama_cpp/llama_cpp.h"

namespace plait::ollama {
namespace {

/// num_gpu counts layers and the output matrix as -ngl does; -1, as many as fit, is the default.
void write_model(ExportDraft& d, const Serving& s) {
  d.set("FROM", "./model.gguf");
  d.section("PARAMETER");
  if (s.limits.max_context > 0) d.copy("num_ctx", "serving.engine.max_model_len");
  d.copy("num_batch", "serving.engine.max_num_batched_tokens");
  const bool even = s.layers.dealing == Dealing::kEven;
  d.set("num_gpu", even ? d.scenario.model.layers + 1 : s.layers.gpu_layers);
  d.say({"serving.layers.deal"});
  if (!even || s.layers.gpu_layers < 0) d.say({"serving.layers.gpu_layers"});
}

/// A model goes on one device if that has the room, else on all.
void write_server(ExportDraft& d, const Serving& s) {
  d.section("environment");
  d.copy("OLLAMA_NUM_PARALLEL", "serving.engine.max_num_seqs");
  d.set("OLLAMA_FLASH_ATTENTION", s.precision.fused_attention ? "1" : "0");
  d.say({"serving.flash_attention"});
  const DType cache = s.precision.kv_cache;
  if (cache == DType::kFp16 || cache == DType::kFp8) {
    d.set("OLLAMA_KV_CACHE_TYPE", cache == DType::kFp16 ? "f16" : "q8_0");
    d.say({"serving.kv_cache"});
  }
  const std::int64_t stages = d.scenario.strategy.mesh[Axis::kPp];
  const std::int64_t devices = d.scenario.cluster.world_size();
  if (stages == devices && stages > 1) d.set("OLLAMA_SCHED_SPREAD", "1");
  if (stages == devices) d.say({"strategy.pp"});
}

}  // namespace

void write(ExportDraft& d) {
  const Serving& serving = llama_cpp::served(d.scenario, "Ollama");
  write_model(d, serving);
  write_server(d, serving);
  llama_cpp::say_engine(d, serving);
}

}  // namespace plait::ollama
