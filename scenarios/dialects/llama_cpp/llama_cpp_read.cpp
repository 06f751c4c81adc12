#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/parse_number.h"
#include "model/presets.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/llama_cpp/llama_cpp.h"
#include "scenarios/dialects/llama_cpp/llama_cpp_idle.h"
#include "scenarios/dialects/llama_cpp/llama_cpp_load.h"
#include "scenarios/dialects/llama_cpp/llama_cpp_overrides.h"
#include "scenarios/dialects/llama_cpp/llama_cpp_weights.h"
#include "scenarios/dialects/manifest.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/dialects/shell/script_variables.h"

namespace plait::llama_cpp {
namespace {

constexpr std::array<std::string_view, 3> kPrograms = {"llama-server", "llama-cli", "llama-bench"};
constexpr std::string_view kServer = kPrograms[0], kBenchmark = kPrograms[2];

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
    {"-hff", "--hf-file"},      {"-mu", "--model-url"},
    {"-kvu", "--kv-unified"},   {"-no-kvu", "--no-kv-unified"},
    {"-dev", "--device"},       {"-ot", "--override-tensor"},
    {"-fit", "--fit"},          {"-mmp", "--mmap"},
};
/// Of which llama-bench has others.
constexpr Alias kOfAnswers[] = {{"-n", "--predict"}, {"--n-predict", "--predict"}};
constexpr Alias kOfBenchmark[] = {
    {"--n-prompt", "-p"}, {"--n-gen", "-n"}, {"--n-depth", "-d"}, {"--repetitions", "-r"}};
/// Options that add up.
constexpr std::string_view kLists[] = {"--override-tensor", "-p", "-n", "-d"};

/// Images for Docker, by what their names end in, and their programs.
struct Image {
  std::string_view name, program;
};
constexpr Image kImages[] = {{"llama.cpp:server", kServer}, {"llama.cpp:light", kPrograms[1]}};

/// The program that `text` starts, or "".
std::string_view program_in(std::string_view text) {
  const auto is_named = [&](std::string_view p) { return text.find(p) != std::string_view::npos; };
  const auto* found = std::ranges::find_if(kPrograms, is_named);
  if (found != kPrograms.end()) return *found;
  const auto* image = std::ranges::find_if(kImages, is_named, &Image::name);
  return image == std::end(kImages) ? std::string_view() : image->program;
}

bool is_image(const ShellWord& word) {
  return std::ranges::any_of(
      kImages, [&](const Image& i) { return word.text.find(i.name) != std::string::npos; });
}

/// Those of the program, without what stands in front of it: options of Docker.
std::vector<ShellWord> words_of(const std::string& text, std::string_view program,
                                const std::string& file, Warnings& warnings) {
  std::vector<ShellWord> words = shell_words(without_items(text), file, &warnings);
  const auto by_image = [](const ShellWord& w, const ShellWord&) { return is_image(w); };
  const auto by_name = [&](const ShellWord& w, const ShellWord&) { return is_program(w, program); };
  const StartedProgram started = {"llama.cpp", {by_image, by_name}};
  if (!is_manifest(text)) return words_behind_program(std::move(words), started, file);
  words = words_of_container(std::move(words), text, started, file);
  const auto image = std::ranges::find_if(words, is_image);
  if (image != words.end()) words.erase(words.begin(), image);
  return words;
}

/// Of lists of llama-bench's settings, 0,1, the first is read.
std::vector<ShellWord> first_of_lists(std::vector<ShellWord> words, Warnings& warnings) {
  constexpr std::string_view kListed[] = {
      "--n-gpu-layers", "--flash-attn", "--batch-size", "--ubatch-size",   "--cache-type-k",
      "--cache-type-v", "--split-mode", "--n-cpu-moe",  "--no-kv-offload", "--mmap"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& option = words[i - 1].text;
    const std::size_t comma = words[i].text.find(',');
    if (comma == std::string::npos || std::ranges::count(kListed, option) == 0) continue;
    words[i].text.resize(comma);
    warn_unread({fmt::format("values of {} behind {}", option, words[i].text)}, warnings);
  }
  return words;
}

/// What is absent has llama.cpp's default.
class Reader {
 public:
  Reader(Arguments& args, std::string_view program, Imported& out)
      : args_(args), program_(program), out_(out) {}

  /// `visible`: devices, where that is known.
  void read(const std::optional<VisibleDevices>& visible) {
    hidden_ = visible && visible->count == 0;
    if (hidden_) {
      near(
          fmt::format("CUDA_VISIBLE_DEVICES (line {}) names no device: all layers are the "
                      "processor's",
                      visible->line));
    }
    out_.give("serving.engine.kernels", json_quote("llama_cpp"));
    preset_ = read_weights(args_, out_);
    read_layers();
    read_experts();
    read_mapping();
    read_devices(hidden_ ? 1 : visible ? visible->count : 0);
    read_attention();
    read_cache();
    read_slots();
    read_batches();
    read_load(args_, program_ == kBenchmark, out_);
  }

 private:
  void give(std::string_view option, const std::string& path, std::string json) {
    if (!args_.flag(option)) return out_.give_default(path, std::move(json));
    out_.give(path, std::move(json), args_.line(option));
  }
  void near(const std::string& what) { out_.warnings.push_back({"W008", what}); }

  /// A number, "all", or "auto": what fits; -1 and less are these as numbers.
  void read_layers() {
    const char* option = "--n-gpu-layers";
    const Arguments::Option* given = args_.find(option);
    const std::string value = given == nullptr ? "auto" : *args_.text(option);
    if (hidden_) {
      out_.give("serving.layers.deal", json_quote("gpu_layers"));
      return out_.give("serving.layers.gpu_layers", "0");
    }
    const bool word = value == "auto" || value == "all";
    const std::int64_t n = word ? (value == "all" ? -2 : -1) : *args_.integer(option, kLeast);
    give(option, "serving.layers.deal", json_quote(n < -1 ? "even" : "gpu_layers"));
    give(option, "serving.layers.gpu_layers", std::to_string(std::max<std::int64_t>(n, -1)));
  }
  static constexpr std::int64_t kLeast = -(std::int64_t{1} << 31);

  void read_experts() {
    const char *some = "--n-cpu-moe", *all = "--cpu-moe", *by_name = "--override-tensor";
    args_.exclusive(some, all);
    const auto overridden = experts_overridden(args_, preset_, out_);
    if (args_.flag(all)) {
      const Model* model = find_preset(preset_);
      if (is_dense()) return leave_out(all);
      const std::int64_t layers = model == nullptr ? kMostLayers : model->layers;
      return give(all, "serving.layers.host_experts", std::to_string(layers));
    }
    if (args_.integer(some, 0).value_or(0) > 0 && is_dense()) return leave_out(some);
    const std::int64_t counted = args_.integer(some, 0).value_or(fits_experts() ? -1 : 0);
    give(overridden ? by_name : some, "serving.layers.host_experts",
         std::to_string(overridden ? std::max(counted, *overridden) : counted));
  }
  bool is_dense() const {
    const Model* model = find_preset(preset_);
    return model != nullptr && model->experts == 0;
  }
  void leave_out(const char* option) {
    near(fmt::format("{} (line {}) changes nothing: {} has no experts", option, args_.line(option),
                     preset_));
    give(option, "serving.layers.host_experts", "0");
  }
  /// What looks for what fits leaves experts off the devices before whole layers (common/fit.cpp);
  /// llama-bench does not look.
  bool fits_experts() {
    const Arguments::Option* layers = args_.find("--n-gpu-layers");
    const std::string given = layers == nullptr ? "auto" : *args_.text("--n-gpu-layers");
    const bool looks = args_.one_of("--fit", {"on", "off"}).value_or("on") == "on";
    const Model* model = find_preset(preset_);
    const bool mixes = model != nullptr && model->experts > 0;
    return mixes && looks && !hidden_ && program_ != kBenchmark &&
           (given == "auto" || given == "-1");
  }

  /// Weights in host memory are the mapped file, unless they are read into page-locked memory
  /// (--no-mmap, and llama-bench's --mmap 0).
  void read_mapping() {
    const char *on = "--mmap", *off = "--no-mmap";
    args_.exclusive(on, off);
    const Arguments::Option* maps = args_.find(on);
    const bool denied = maps != nullptr && !maps->values.empty() && maps->values[0].text == "0";
    give(denied ? on : off, "serving.layers.pinned", json_bool(denied || args_.flag(off)));
  }

  /// 0: not said.
  std::int64_t read_shares() {
    const char* option = "--tensor-split";
    const auto text = args_.text(option);
    if (!text) return 0;
    std::vector<double> shares;
    for (std::size_t at = 0; at <= text->size();) {
      const std::size_t end = std::min(text->find_first_of(",/", at), text->size());
      const auto share = parse_number<double>(std::string_view(*text).substr(at, end - at));
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
  /// Those of --device; 0: not said.
  std::int64_t read_named_devices() {
    const auto names = args_.text("--device");
    if (!names) return 0;
    if (*names == "none") args_.unsupported("--device", "no device at all");
    return std::ranges::count_if(*names, [](char c) { return c == ',' || c == '/'; }) + 1;
  }

  /// The devices of --tensor-split or --device, or those that are visible; 0: all that the base
  /// has.
  void read_devices(std::int64_t visible) {
    const char* option = "--split-mode";
    const std::string mode =
        args_.one_of(option, {"none", "layer", "row", "tensor"}).value_or("layer");
    const std::int64_t named = read_named_devices(), shares = read_shares();
    const std::int64_t devices = mode == "none" ? 1
                                 : shares > 0   ? shares
                                 : named > 0    ? named
                                                : visible;
    const bool layers = mode == "layer" || mode == "none";
    const char *axis = layers ? "pp" : "tp", *other = layers ? "tp" : "pp";
    if (devices == 0) {
      out_.takes_rest = axis;
    } else {
      const int line = args_.line(mode == "none" ? option
                                  : shares > 0   ? "--tensor-split"
                                                 : "--device");
      out_.give(fmt::format("strategy.{}", axis), std::to_string(devices), line);
    }
    give(option, fmt::format("strategy.{}", other), "1");
    give(option, "serving.layers.split", json_quote(mode == "row" ? "row" : "layer"));
  }

  /// Without a value as before pull request 15434; 1, 0 and -1 as in 15746.
  void read_attention() {
    const char* option = "--flash-attn";
    const Arguments::Option* given = args_.find(option);
    const bool bare = given != nullptr && given->values.empty();
    const std::string value = given == nullptr || bare
                                  ? "auto"
                                  : *args_.one_of(option, {"on", "off", "auto", "1", "0", "-1"});
    give(option, "serving.flash_attention", json_bool(value != "off" && value != "0"));
    const char *on = "--kv-offload", *off = "--no-kv-offload";
    args_.exclusive(on, off);
    const Arguments::Option* stays = args_.find(off);  // llama-bench: -nkvo 0 or 1
    const bool denied = stays != nullptr && !stays->values.empty() && stays->values[0].text == "0";
    give(args_.flag(on) ? on : off, "serving.layers.cache_on_host",
         json_bool(stays != nullptr && !denied));
  }

  void read_cache() {
    struct Type {
      const char *theirs, *ours;
      double bits;  // of a value
    };
    // ggml-common.h: blocks of 32 values with a scale, and _1 with a least value too.
    constexpr Type kTypes[] = {{"f16", "fp16", 16},  {"bf16", "bf16", 16}, {"f32", "fp32", 32},
                               {"q8_0", "fp8", 8.5}, {"q5_1", "fp8", 6},   {"q5_0", "fp8", 5.5},
                               {"q4_1", "fp8", 5},   {"q4_0", "fp8", 4.5}, {"iq4_nl", "fp8", 4.5}};
    const char *k = "--cache-type-k", *v = "--cache-type-v";
    const std::string keys = args_.text(k).value_or("f16"), values = args_.text(v).value_or("f16");
    if (keys != values) {
      args_.unsupported(args_.flag(v) ? v : k,
                        fmt::format("keys in {} and values in {}", keys, values));
    }
    const auto* type = std::ranges::find(kTypes, keys, &Type::theirs);
    if (type == std::end(kTypes)) return args_.unsupported(k, "keys and values in " + keys);
    if (type->ours == std::string_view("fp8")) {
      near(fmt::format("keys and values in {}, {} bits each, are read as fp8, which has 8{}", keys,
                       type->bits,
                       type->bits < 8 ? ": the cache is planned larger than it is" : ""));
    }
    give(k, "serving.kv_cache", json_quote(type->ours));
  }

  /// Slots that are counted have equal parts of the context, unless --kv-unified lets them share
  /// it. By default llama-server has 4 that do (tools/server/server.cpp).
  void read_slots() {
    const char* slots = "--parallel";
    const std::int64_t counted = std::max<std::int64_t>(args_.integer(slots, -1).value_or(0), 0);
    const bool serves = program_ == kServer;
    const std::int64_t there = counted > 0 ? counted : serves ? 4 : 1;
    give(slots, "serving.engine.max_num_seqs", std::to_string(there));
    const char *one = "--kv-unified", *each = "--no-kv-unified";
    args_.exclusive(one, each);
    const bool automatic = serves && counted == 0;  // which sets it
    const bool shared = automatic || args_.flag(one);
    args_.flag(each);
    read_context(shared ? 1 : there);
  }

  /// The cache of all slots, and the longest sequence of one. Without a size it is the model's own,
  /// or so much of it as --fit finds room for (common/fit.cpp).
  void read_context(std::int64_t parts) {
    const char* context = "--ctx-size";
    const std::int64_t tokens = args_.integer(context, 0).value_or(0);
    const bool fits = args_.one_of("--fit", {"on", "off"}).value_or("on") == "on";
    // 0 that is said keeps --fit from taking less (common/arg.cpp, fit_params_min_ctx).
    const bool whole = args_.has(context) || !fits;
    if (tokens == 0) return program_ == kBenchmark ? void() : read_whole_context(whole);
    if (tokens < parts) args_.malformed(context, "at least a token for each of --parallel");
    give(context, "serving.engine.max_model_len", std::to_string(capped(tokens / parts)));
    give(context, "serving.engine.kv_cache_tokens", std::to_string(tokens));
  }
  /// A slot's context is no longer than the model's (tools/server/server-context.cpp).
  std::int64_t capped(std::int64_t tokens) {
    const Model* model = find_preset(preset_);
    if (model == nullptr || tokens <= positions_of(*model)) return tokens;
    near(fmt::format("a context of {} tokens is capped to the {} that {} has positions for", tokens,
                     positions_of(*model), preset_));
    return positions_of(*model);
  }
  /// `whole`: no less than the model's own.
  void read_whole_context(bool whole) {
    const Model* model = find_preset(preset_);
    if (whole && model != nullptr) {
      const std::string positions = std::to_string(positions_of(*model));
      give("--ctx-size", "serving.engine.max_model_len", positions);
      return give("--ctx-size", "serving.engine.kv_cache_tokens", positions);
    }
    near("without --ctx-size the context is the model's own" +
         (model == nullptr ? "" : fmt::format(", {} tokens", positions_of(*model))) +
         ", or what --fit finds room for, 4096 at least: here the longest request has room, unless "
         "the base says more");
  }
  std::int64_t positions_of(const Model& model) const {
    const auto given = std::ranges::find(out_.given, "model.max_positions", &Given::path);
    return given == out_.given.end() ? model.max_positions : std::stoll(given->value);
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
  std::string_view program_;
  Imported& out_;
  std::string preset_;
  bool hidden_ = false;  // all devices
};

}  // namespace

StartedProgram started() {
  const auto by_image = [](const ShellWord& w, const ShellWord&) { return is_image(w); };
  const auto by_name = [](const ShellWord& w, const ShellWord&) {
    return std::ranges::any_of(kPrograms, [&](std::string_view p) { return is_program(w, p); });
  };
  return {"llama.cpp", {by_image, by_name}};
}

bool is_named_in(std::string_view commands) { return !program_in(commands).empty(); }

Imported read(const std::string& text, const std::string& file) {
  const std::string_view program = program_in(commands_of(text));
  Imported out;
  std::vector<ShellWord> words = with_names(words_of(text, program, file, out.warnings), kAliases);
  words = program == kBenchmark
              ? first_of_lists(with_names(std::move(words), kOfBenchmark), out.warnings)
              : with_names(std::move(words), kOfAnswers);
  Arguments args(words, file, Dashes::kOneOrTwo, kLists);
  out.serves = true;
  Reader(args, program, out).read(visible_devices(text, "llama"));
  out.foreign = args.knows_none() && program.empty();
  pass_over_idle(args);
  args.report_unread(out.warnings);
  warn_unread(variables_of(text, "LLAMA_ARG_"), out.warnings);
  return out;
}

}  // namespace plait::llama_cpp
