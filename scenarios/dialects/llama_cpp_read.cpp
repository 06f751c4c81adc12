#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/json.h"
#include "model/presets.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/gguf_names.h"
#include "scenarios/dialects/llama_cpp.h"

namespace plait::llama_cpp {
namespace {

constexpr std::array<std::string_view, 3> kPrograms = {"llama-server", "llama-cli", "llama-bench"};

constexpr Alias kAliases[] = {
    {"-m", "--model"},          {"-hf", "--hf-repo"},
    {"-hfr", "--hf-repo"},      {"-ngl", "--n-gpu-layers"},
    {"-sm", "--split-mode"},    {"--gpu-layers", "--n-gpu-layers"},
    {"-ts", "--tensor-split"},  {"-c", "--ctx-size"},
    {"-np", "--parallel"},      {"-b", "--batch-size"},
    {"-ub", "--ubatch-size"},   {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"}, {"-fa", "--flash-attn"},
    {"-kvo", "--kv-offload"},   {"-nkvo", "--no-kv-offload"},
    {"-cmoe", "--cpu-moe"},     {"-ncmoe", "--n-cpu-moe"},
};

/// What is absent has llama.cpp's default.
class Reader {
 public:
  Reader(Arguments& args, Imported& out) : args_(args), out_(out) {}

  void read() {
    for (const char* option : {"--model", "--hf-repo"}) read_model(option);
    read_layers();
    read_experts();
    read_devices();
    read_attention();
    read_cache();
    read_slots();
    read_batches();
  }

 private:
  void give(std::string_view option, const std::string& path, std::string json) {
    out_.give(path, std::move(json), args_.line(option));
  }
  void near(const std::string& what) { out_.warnings.push_back("W008: " + what); }

  void read_model(const char* option) {
    const Arguments::Option* given = args_.find(option);
    if (given == nullptr || given->values.empty() || given->values.front().unknown) return;
    const std::string& path = given->values.front().text;
    const GgufName name = gguf_name(path);
    if (name.preset.empty()) {
      warn_unread({"the model " + path + ", which is no preset"}, out_.warnings);
    } else {
      preset_ = name.preset;
      give(option, "model", json_quote(name.preset));
    }
    read_encoding(option, name);
  }
  void read_encoding(const char* option, const GgufName& name) {
    if (name.encoding.empty()) return;
    if (name.weights.empty()) {
      return warn_unread({"weights in " + name.encoding}, out_.warnings);
    }
    const bool mixed = name.experts.empty() && name.weights != "plain";
    if (name.encoding != name.weights && mixed) {
      near(fmt::format("weights in {}, which mixes formats, are read as {}", name.encoding,
                       name.weights));
    }
    give(option, "serving.weights", json_quote(name.weights));
    give(option, "serving.head_weights", json_quote(name.head));
    if (!name.experts.empty()) give(option, "serving.expert_weights", json_quote(name.experts));
    if (!name.dtype.empty()) give(option, "serving.dtype", json_quote(name.dtype));
  }

  /// A number, "all", or "auto": what fits; -1 and less are these as numbers.
  void read_layers() {
    const char* option = "--n-gpu-layers";
    const Arguments::Option* given = args_.find(option);
    const std::string value = given == nullptr ? "auto" : *args_.text(option);
    const bool word = value == "auto" || value == "all";
    const std::int64_t n = word ? (value == "all" ? -2 : -1) : *args_.integer(option, kLeast);
    give(option, "serving.layers.deal", json_quote(n < -1 ? "even" : "gpu_layers"));
    give(option, "serving.layers.gpu_layers", std::to_string(std::max<std::int64_t>(n, -1)));
  }
  static constexpr std::int64_t kLeast = -(std::int64_t{1} << 31);

  void read_experts() {
    const char *some = "--n-cpu-moe", *all = "--cpu-moe";
    args_.exclusive(some, all);
    if (args_.flag(all)) {
      const Model* model = find_preset(preset_);
      const std::int64_t layers = model == nullptr ? kMoreThanAnyModelHas : model->layers;
      return give(all, "serving.layers.host_experts", std::to_string(layers));
    }
    give(some, "serving.layers.host_experts", std::to_string(args_.integer(some, 0).value_or(0)));
  }
  static constexpr std::int64_t kMoreThanAnyModelHas = 999;

  /// 0: not said.
  std::int64_t read_shares() {
    const char* option = "--tensor-split";
    const auto text = args_.text(option);
    if (!text) return 0;
    std::vector<double> shares;
    for (std::size_t at = 0; at <= text->size();) {
      const std::size_t end = std::min(text->find_first_of(",/", at), text->size());
      const std::optional<double> share = number(std::string_view(*text).substr(at, end - at));
      if (!share || *share < 0) args_.malformed(option, "proportions, 3,1 or 3/1");
      if (*share > 0) shares.push_back(*share);
      at = end + 1;
    }
    const auto unlike = [&](double share) { return share != shares.front(); };
    if (std::ranges::any_of(shares, unlike)) {
      args_.unsupported(option, "devices of unequal shares");
    }
    return static_cast<std::int64_t>(shares.size());
  }
  static std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  /// The devices of --tensor-split, or all that the base has.
  void read_devices() {
    const char* option = "--split-mode";
    const std::string mode =
        args_.one_of(option, {"none", "layer", "row", "tensor"}).value_or("layer");
    const std::int64_t devices = mode == "none" ? 1 : read_shares();
    const bool layers = mode == "layer" || mode == "none";
    const char *axis = layers ? "pp" : "tp", *other = layers ? "tp" : "pp";
    if (devices == 0) {
      out_.takes_rest = axis;
    } else {
      give("--tensor-split", fmt::format("strategy.{}", axis), std::to_string(devices));
    }
    give(option, fmt::format("strategy.{}", other), "1");
    give(option, "serving.layers.split", json_quote(mode == "row" ? "row" : "layer"));
    if (args_.flag("--fit")) args_.one_of("--fit", {"on", "off"});
  }

  /// Without a value as before pull request 15434; 1, 0 and -1 as in 15746.
  void read_attention() {
    const char* option = "--flash-attn";
    const Arguments::Option* given = args_.find(option);
    const bool bare = given != nullptr && given->values.empty();
    const std::string value = given == nullptr || bare
                                  ? "auto"
                                  : *args_.one_of(option, {"on", "off", "auto", "1", "0", "-1"});
    give(option, "serving.flash_attention", value == "off" || value == "0" ? "false" : "true");
    const char *on = "--kv-offload", *off = "--no-kv-offload";
    args_.exclusive(on, off);
    const Arguments::Option* stays = args_.find(off);  // llama-bench: -nkvo 0 or 1
    const bool denied = stays != nullptr && !stays->values.empty() && stays->values[0].text == "0";
    give(off, "serving.layers.cache_on_host", stays != nullptr && !denied ? "true" : "false");
  }

  void read_cache() {
    struct Type {
      const char *theirs, *ours;
    };
    constexpr Type kTypes[] = {{"f16", "fp16"}, {"bf16", "bf16"}, {"f32", "fp32"}, {"q8_0", "fp8"}};
    const char *k = "--cache-type-k", *v = "--cache-type-v";
    const std::string keys = args_.text(k).value_or("f16"), values = args_.text(v).value_or("f16");
    if (keys != values) {
      args_.unsupported(args_.flag(v) ? v : k,
                        fmt::format("keys in {} and values in {}", keys, values));
    }
    const auto* type = std::ranges::find(kTypes, keys, &Type::theirs);
    if (type == std::end(kTypes)) return args_.unsupported(k, "keys and values in " + keys);
    if (keys == "q8_0") near("keys and values in q8_0, 8.5 bits each, are read as fp8");
    give(k, "serving.kv_cache", json_quote(type->ours));
  }

  /// Slots that are counted have equal parts of the context. By default llama-server has 4, which
  /// share it (tools/server/server.cpp).
  void read_slots() {
    const char *slots = "--parallel", *context = "--ctx-size";
    const std::int64_t counted = std::max<std::int64_t>(args_.integer(slots, -1).value_or(0), 0);
    const bool serves = std::ranges::any_of(args_.leading(), [](const ShellWord& word) {
      return word.text.ends_with(kPrograms.front());
    });
    const std::int64_t there = counted > 0 ? counted : serves ? 4 : 1;
    give(slots, "serving.engine.max_num_seqs", std::to_string(there));
    const std::int64_t tokens = args_.integer(context, 0).value_or(0);
    if (tokens == 0) return;  // the model's
    const std::int64_t each = tokens / std::max<std::int64_t>(counted, 1);
    if (each == 0) args_.malformed(context, "at least a token for each of --parallel");
    give(context, "serving.engine.max_model_len", std::to_string(each));
  }

  /// A batch is computed in micro-batches, each of which is a step.
  void read_batches() {
    constexpr std::int64_t kBatch = 2048, kMicroBatch = 512;
    const std::int64_t batch = args_.integer("--batch-size").value_or(kBatch);
    const char* micro = "--ubatch-size";
    const std::int64_t step = std::min(batch, args_.integer(micro).value_or(kMicroBatch));
    give(args_.flag(micro) ? micro : "--batch-size", "serving.engine.max_num_batched_tokens",
         std::to_string(step));
    const char *on = "--cache-prompt", *off = "--no-cache-prompt";
    args_.exclusive(on, off);
    if (args_.flag(on)) give(on, "serving.engine.enable_prefix_caching", "true");
    if (args_.flag(off)) give(off, "serving.engine.enable_prefix_caching", "false");
  }

  Arguments& args_;
  Imported& out_;
  std::string preset_;
};

}  // namespace

bool starts(std::string_view text) {
  return std::ranges::any_of(
      kPrograms, [&](std::string_view p) { return text.find(p) != std::string_view::npos; });
}

Imported read(const std::string& text, const std::string& file) {
  Arguments args(with_names(shell_words(text, file), kAliases), file, Dashes::kOneOrTwo);
  Imported out;
  out.serves = true;
  Reader(args, out).read();
  out.foreign = args.knows_none() && !starts(text);
  args.report_unread(out.warnings);
  return out;
}

}  // namespace plait::llama_cpp
