#include "scenarios/dialects/vllm/vllm.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "model/presets.h"
#include "plan/refusal.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/hub_names.h"
#include "scenarios/dialects/manifest.h"
#include "scenarios/dialects/shell/script_variables.h"
#include "scenarios/dialects/vllm/vllm_checkpoint.h"
#include "scenarios/dialects/vllm/vllm_experts.h"
#include "scenarios/dialects/vllm/vllm_formats.h"
#include "scenarios/dialects/vllm/vllm_hosts.h"
#include "scenarios/dialects/vllm/vllm_idle.h"
#include "scenarios/dialects/vllm/vllm_integers.h"
#include "scenarios/dialects/vllm/vllm_limits.h"
#include "scenarios/dialects/vllm/vllm_load.h"
#include "scenarios/dialects/vllm/vllm_speculation.h"
#include "scenarios/dialects/vllm/vllm_words.h"

namespace plait::vllm {
namespace {

struct TypeName {
  std::string_view vllm, ours;
};
constexpr TypeName kTypes[] = {
    {"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"},
    {"half", "fp16"},     {"float", "fp32"},
};

NamedModel named(const std::string& name, int line) {
  return {name, line, preset_of_hub_name(name)};
}
/// The model's repository or folder: behind "serve", or behind --model.
NamedModel model_of(Arguments& args) {
  if (const auto name = args.text("--model")) return named(*name, args.line("--model"));
  const auto& words = args.leading();
  const auto serve = std::ranges::find(words, "serve", &ShellWord::text);
  if (serve == words.end() || serve + 1 == words.end() || (serve + 1)->unknown) return {};
  return named((serve + 1)->text, (serve + 1)->line);
}

std::string type_name(DType t) {
  return std::string(std::ranges::find(kTypes, name_of(t), &TypeName::ours)->vllm);
}

/// vllm/config/cache.py, CacheDType: it has no fp32 but as the type of activations.
std::string cache_type(const ServingPrecision& p) {
  if (p.kv_cache == p.activations) return "auto";
  if (p.kv_cache == DType::kFp8) return "fp8";
  if (p.kv_cache != DType::kFp32) return type_name(p.kv_cache);
  throw refusal("D011", "vLLM does not start with keys and values in fp32", "serving.kv_cache",
                "bf16, fp16, fp8, or the type of serving.dtype",
                fmt::format("--set serving.kv_cache={}", name_of(p.activations)));
}

/// What instances compute in and keep.
void write_types(ExportDraft& d, const Serving& s) {
  const auto& type = type_name;
  d.set("--dtype", type(s.precision.activations));
  const ServingPrecision& p = s.precision;
  if (p.products == DType::kFp8) d.set("--quantization", "fp8");
  if (is_quantised_to_four(p)) d.set("--quantization", "modelopt_fp4");
  d.set("--kv-cache-dtype", cache_type(p));
  if (s.precision.states != s.precision.activations) {
    d.set("--mamba-ssm-cache-dtype", type(s.precision.states));
    d.say({"serving.state_cache"});
  }
  d.say({"serving.dtype", "serving.products", "serving.kv_cache"});
  if (p.expert_products == p.products) d.say({"serving.expert_products"});
}

/// How they batch, as the fields at `path` say.
void write_engine(ExportDraft& d, const Serving& s, const EngineLimits& limits,
                  const std::string& path) {
  require_accepted(limits, d.scenario.model, path);
  d.copy("--max-num-batched-tokens", path + ".max_num_batched_tokens");
  d.copy("--max-num-seqs", path + ".max_num_seqs");
  d.copy("--block-size", path + ".block_size");
  d.copy("--max-model-len", path + ".max_model_len");
  if (limits.cache_tokens > 0) {
    d.set("--num-gpu-blocks-override", ceil_div(limits.cache_tokens, limits.block_size));
    if (limits.cache_tokens % limits.block_size == 0) d.say({path + ".kv_cache_tokens"});
  }
  d.copy("--gpu-memory-utilization", path + ".gpu_memory_utilization");
  if (!limits.chunked_prefill) d.set("--no-enable-chunked-prefill");
  if (limits.admission == Admission::kChunk) d.set("--no-scheduler-reserve-full-isl");
  if (limits.admission != Admission::kSequence) d.say({path + ".admission"});
  d.set(limits.prefix_caching ? "--enable-prefix-caching" : "--no-enable-prefix-caching");
  if (limits.prefix_caching) d.say({path + ".enable_prefix_caching"});
  write_speculation(d, s.speculation);
  if (s.expert_parallel) d.set("--enable-expert-parallel");
  d.set(limits.async_scheduling ? "--async-scheduling" : "--no-async-scheduling");
  if (!limits.graphs) d.set("--enforce-eager");
  if (!limits.own_all_reduce) d.set("--disable-custom-all-reduce");
  for (const char* key :
       {"async_scheduling", "chunked_prefill", "cuda_graphs", "custom_all_reduce"})
    d.say({path + "." + key});
  d.say({"serving.expert_parallel"});
  // Replicas of one server share experts.
  const bool shares = d.scenario.model.experts > 0 && d.scenario.strategy.mesh[Axis::kDp] > 1;
  if (s.expert_parallel || shares == s.divide_experts) d.say({"serving.divide_experts"});
  if (shares && !s.expert_parallel && !s.divide_experts) d.contradict("serving.divide_experts");
}

/// A command for the instances of each pool. Which of them a request goes to is for a proxy in
/// front of them to say; NixlConnector has the decode instance sample the first token.
void write_pools(ExportDraft& d, const Serving& s) {
  struct Role {
    const char *pool, *kv_role;
    const EnginePool& instances;
  };
  const Role roles[] = {{"prefill", "kv_producer", s.disaggregation.prefill},
                        {"decode", "kv_consumer", s.disaggregation.decode}};
  for (const Role& role : roles) {
    const std::string path = "serving.disaggregated." + std::string(role.pool);
    d.section(role.pool);
    require_even_heads(d.scenario.model, role.instances.tp, path + ".tp");
    write_model(d);
    d.copy("--tensor-parallel-size", path + ".tp");
    d.copy("--pipeline-parallel-size", path + ".pp");
    d.copy("--data-parallel-size", path + ".dp");
    write_types(d, s);
    write_engine(d, s, role.instances.limits, path + ".engine");
    d.set("--kv-transfer-config",
          R"('{"kv_connector":"NixlConnector","kv_role":")" + std::string(role.kv_role) + R"("}')");
  }
  d.say({"strategy.dp"});
  if (s.disaggregation.first_token == FirstToken::kDecode) {
    d.say({"serving.disaggregated.first_token"});
  }
  for (const char* key : {"max_num_batched_tokens", "max_num_seqs", "block_size", "max_model_len",
                          "gpu_memory_utilization", "enable_prefix_caching", "async_scheduling",
                          "chunked_prefill", "cuda_graphs", "custom_all_reduce"}) {
    d.say({"serving.engine." + std::string(key)});  // both pools say theirs
  }
}

/// The same the other way round. What is absent has vLLM's default, but for sizes that vLLM chooses
/// by the device.
class ServingReader {
 public:
  ServingReader(Arguments& args, Imported& out) : args_(args), out_(out) {}

  void read(const TypeName* type, const NamedModel& model) {
    if (type != nullptr) out_.give("serving.dtype", json_quote(type->ours));  // or the workload's
    read_quantization(args_, out_, model);
    read_cache(type);
    read_states();
    if (const auto dp = args_.integer("--data-parallel-size")) {
      out_.give("strategy.dp", std::to_string(*dp), args_.line("--data-parallel-size"));
    }
    read_experts(args_, out_, model);
    for (const auto& [option, key] : kSizes) {
      if (const auto n = readable_integer(args_, option))
        give(option, "engine." + std::string(key), std::to_string(*n));
    }
    read_length(model);
    read_blocks();
    const char* memory = "--gpu-memory-utilization";
    if (const auto share = args_.number(memory))
      give(memory, "engine.gpu_memory_utilization", json_number(*share));
    read_flags();
    read_prefix_caching(model.preset);
  }

 private:
  struct Same {
    std::string_view option, key;
  };
  static constexpr Same kSizes[] = {{"--max-num-batched-tokens", "max_num_batched_tokens"},
                                    {"--max-num-seqs", "max_num_seqs"},
                                    {"--block-size", "block_size"}};

  void give(std::string_view option, const std::string& key, std::string json) {
    const std::string path = "serving." + key;
    if (!args_.flag(option)) return out_.give_default(path, std::move(json));
    out_.give(path, std::move(json), args_.line(option));
  }
  /// By default as long as the model has positions: vLLM does not start where the cache has no room
  /// for one such sequence (vllm/v1/core/kv_cache_utils.py, check_enough_kv_cache_memory).
  void read_length(const NamedModel& model) {
    const char *option = "--max-model-len", *key = "engine.max_model_len";
    if (is_automatic(args_, option)) return;
    if (const auto n = readable_integer(args_, option)) {
      fit_load(*n, out_);
      return give(option, key, std::to_string(*n));
    }
    const Model* known = find_preset(model.preset);
    if (known != nullptr) {
      const std::int64_t own = positions_of_hub_name(model.name);
      return give(option, key, std::to_string(own > 0 ? own : known->max_positions));
    }
    out_.warnings.push_back(
        {"W008",
         "without --max-model-len a sequence may be as long as the model has positions: here the "
         "longest request has room, unless the base says more"});
  }
  void read_blocks() {
    const char* option = "--num-gpu-blocks-override";
    constexpr std::int64_t kTokens = 16;  // of a block, by default
    const auto blocks = args_.integer(option);
    if (!blocks) return;
    const std::int64_t tokens = *blocks * args_.integer("--block-size").value_or(kTokens);
    give(option, "engine.kv_cache_tokens", std::to_string(tokens));
  }
  /// "--no-..." denies each (argparse.BooleanOptionalAction); neither is "--no-...".
  void flag(const std::string& name, const char* key, bool means) {
    const std::string on = "--" + name, off = "--no-" + name;
    args_.exclusive(on, off);
    give(args_.flag(off) ? off : on, key, args_.flag(on) == means ? "true" : "false");
  }
  void read_flags() {
    flag("enforce-eager", "engine.cuda_graphs", false);
    if (args_.flag("--enforce-eager")) {
      out_.warnings.push_back({"W008",
                               "with --enforce-eager the host issues each kernel, here in no time "
                               "unless the base has host.launch_time"});
    }
    flag("disable-custom-all-reduce", "engine.custom_all_reduce", false);
    const char *on = "--enable-chunked-prefill", *off = "--no-enable-chunked-prefill";
    args_.exclusive(on, off);
    give(args_.flag(on) ? on : off, "engine.chunked_prefill", args_.flag(off) ? "false" : "true");
    read_admission();
  }
  void read_admission() {
    const char *on = "--scheduler-reserve-full-isl", *off = "--no-scheduler-reserve-full-isl";
    args_.exclusive(on, off);
    give(args_.flag(on) ? on : off, "engine.admission",
         json_quote(args_.flag(off) ? "chunk" : "prompt"));
  }
  /// vLLM's default is on but for models with states; here it is described of layers that keep all
  /// tokens.
  void read_prefix_caching(const std::string& preset) {
    const char *on = "--enable-prefix-caching", *off = "--no-enable-prefix-caching";
    args_.exclusive(on, off);
    const Model* model = find_preset(preset);
    const bool described = model != nullptr && keeps_all_tokens(*model);
    const bool by_default = model != nullptr && model->recurrent_layers() == 0;
    const bool asked = args_.flag(on);
    if (args_.flag(off)) return give(off, "engine.enable_prefix_caching", "false");
    if (described || (asked && model == nullptr)) {
      return give(on, "engine.enable_prefix_caching", "true");
    }
    if (!asked && !by_default) return;
    out_.warnings.push_back(
        {"W008", fmt::format("vLLM caches prefixes of {} too{}; here it is off, as prefix caching "
                             "is not described of layers that keep a window or a state",
                             preset, asked ? "" : ", by default")});
  }
  /// Where it says nothing, states are as in the base, or of the type of activations.
  void read_states() {
    const char* states = "--mamba-ssm-cache-dtype";
    const auto kept = args_.one_of(states, {"auto", "float32", "float16", "bfloat16"});
    const auto* named = std::ranges::find(kTypes, kept.value_or("auto"), &TypeName::vllm);
    if (named != std::end(kTypes)) give(states, "state_cache", json_quote(named->ours));
  }
  void read_cache(const TypeName* type) {
    const char* cache = "--kv-cache-dtype";
    const std::string kept = args_
                                 .one_of(cache, {"auto", "bfloat16", "float16", "fp8", "fp8_e4m3",
                                                 "fp8_e5m2", "fp8_inc", "fp8_ds_mla"})
                                 .value_or("auto");
    if (kept == "auto" && type == nullptr) return;
    if (kept == "fp8_ds_mla") {  // csrc/cache_kernels.cu, concat_and_cache_mla
      out_.warnings.push_back({"W008",
                               "--kv-cache-dtype fp8_ds_mla, 656 bytes for each token and layer, "
                               "is read as fp8, 576 bytes"});
    }
    const auto* named = std::ranges::find(kTypes, kept, &TypeName::vllm);
    const bool plain = named != std::end(kTypes);
    give(cache, "kv_cache", json_quote(kept == "auto" ? type->ours : plain ? named->ours : "fp8"));
  }

  Arguments& args_;
  Imported& out_;
};

/// By default on, unless guesses are neither EAGLE's nor of the model's own modules, or ray starts
/// the ranks (vllm/config/vllm.py).
void read_scheduling(Arguments& args, Imported& out) {
  const char *on = "--async-scheduling", *off = "--no-async-scheduling",
             *starter = "--distributed-executor-backend";
  const std::string path = "serving.engine.async_scheduling";
  args.exclusive(on, off);
  const bool said = args.flag(on) || args.flag(off);
  if (said) return out.give(path, json_bool(args.flag(on)), args.line(args.flag(on) ? on : off));
  const auto guesses = std::ranges::find(out.given, "serving.speculative.method", &Given::path);
  const bool by_others =
      guesses != out.given.end() && guesses->value != R"("eagle")" && guesses->value != R"("mtp")";
  const bool by_ray = args.flag(starter) && args.text(starter) == "ray";
  out.give_default(path, json_bool(!by_others && !by_ray));
}

}  // namespace

void write(ExportDraft& d) {
  const Serving* serving = d.scenario.serving ? &*d.scenario.serving : nullptr;
  require_device(d.scenario);
  if (serving != nullptr && serving->disaggregation.any()) return write_pools(d, *serving);
  require_even_heads(d.scenario.model, d.scenario.strategy.mesh[Axis::kTp], "strategy.tp");
  write_model(d);
  d.copy("--tensor-parallel-size", "strategy.tp");
  d.copy("--pipeline-parallel-size", "strategy.pp");
  if (serving != nullptr) {
    d.copy("--data-parallel-size", "strategy.dp");
    write_types(d, *serving);
    return write_engine(d, *serving, serving->limits, "serving.engine");
  }
  const std::string_view type = name_of(d.scenario.workload.precision.weights);
  d.set("--dtype", std::string(std::ranges::find(kTypes, type, &TypeName::ours)->vllm));
  d.say({"workload.precision.weights"});
}

namespace {

NamedModel read_model(Arguments& args, Imported& out) {
  NamedModel model = model_of(args);
  if (!model.preset.empty()) {
    out.give("model", json_quote(model.preset), model.line);
    const std::int64_t positions = positions_of_hub_name(model.name);
    if (positions > 0) out.give("model.max_positions", std::to_string(positions), model.line);
  } else if (!model.name.empty()) {
    out.unknown_model = model.name;
    warn_unread({"the model " + model.name + ", which is no preset"}, out.warnings);
  }
  return model;
}

/// What of the command and its script is not read.
void report_rest(Arguments& args, const std::string& text, Imported& out) {
  pass_over_idle(args);
  if (args.flag("--config")) {
    const std::string config = args.text("--config").value_or("");
    out.foreign = false;
    warn_unread({config + ", the file of --config: import it first, and give what comes of it as "
                          "--base"},
                out.warnings);
  }
  args.report_unread(out.warnings);
  std::vector<std::string> variables = variables_of(text, "VLLM_");
  std::erase_if(variables, is_idle_variable);
  warn_unread(variables, out.warnings);
  if (const ManifestReplicas of = replicas_of_manifest(text); of.count > 1) {
    out.warnings.push_back(
        {"W008",
         fmt::format("replicas {} (line {}) are read as one: each is a server of its own, and what "
                     "shares requests out among them is not predicted",
                     of.count, of.line)});
  }
}

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  Imported out;
  Arguments args(words_of(text, file, out.warnings), file, Dashes::kOneOrTwo);
  out.serves = true;
  const NamedModel model = read_model(args, out);
  const auto size = [&](const char* option, const char* path) {
    const auto ranks = args.integer(option);
    if (!ranks) return out.give_default(path, "1");
    out.give(path, std::to_string(*ranks), args.line(option));
  };
  size("--tensor-parallel-size", "strategy.tp");
  size("--pipeline-parallel-size", "strategy.pp");
  out.give("strategy.fsdp", "1");
  std::vector<std::string> names = {"auto"};
  for (const TypeName& t : kTypes) names.emplace_back(t.vllm);
  const std::string name = args.one_of("--dtype", names).value_or("auto");
  const auto* found = std::ranges::find(kTypes, name, &TypeName::vllm);
  const TypeName* type = found == std::end(kTypes) ? nullptr : found;
  if (type != nullptr) {  // of a scenario that trains what is served
    out.give("workload.precision.weights", json_quote(type->ours), args.line("--dtype"));
  }
  out.give("strategy.zero_stage", "0");
  ServingReader(args, out).read(type, model);
  read_speculation(args, out, file, model.preset);
  read_scheduling(args, out);
  require_accepted(args, model);
  require_visible_device(text, file);
  read_hosts(args, out);
  out.foreign = args.knows_none() && model.name.empty();
  report_rest(args, text, out);
  return out;
}

}  // namespace plait::vllm
