#include "scenarios/dialects/llama_cpp/llama_cpp_weights.h"

#include <fmt/format.h>

#include "core/json.h"
#include "scenarios/dialects/llama_cpp/gguf_names.h"

namespace plait::llama_cpp {
namespace {

constexpr std::string_view kDefaultEncoding = "q4_k_m";  // of --hf-repo

/// What is given for it, if that is known.
std::string name_in(Arguments& args, const char* option) {
  const Arguments::Option* given = args.find(option);
  if (given == nullptr || given->values.empty() || given->values.front().unknown) return "";
  const std::string& text = given->values.front().text;
  return text.substr(0, text.find('?'));  // of a URL
}

class WeightsReader {
 public:
  WeightsReader(Arguments& args, Imported& out) : args_(args), out_(out) {}

  std::string read() {
    const std::string repo = name_in(args_, "--hf-repo"), file = name_in(args_, "--hf-file");
    if (!repo.empty() || !file.empty()) return read_hub(repo, file);
    for (const char* option : {"--model", "--model-url"}) {
      const std::string path = name_in(args_, option);
      if (path.empty()) continue;
      read_model(option, path, gguf_name(path));
      return preset_;
    }
    return "";
  }

 private:
  void give(const char* option, const std::string& path, std::string json) {
    out_.give(path, std::move(json), args_.line(option));
  }
  void near(const std::string& what) { out_.warnings.push_back({"W008", what}); }

  std::string read_hub(const std::string& repo, const std::string& file) {
    args_.find("--model");  // where the file goes
    if (file.empty()) {
      const GgufName name = gguf_name(repo, kDefaultEncoding);
      if (name.encoding == kDefaultEncoding && gguf_name(repo).encoding.empty()) {
        near(
            fmt::format("{} names no quantisation: weights are read as {}, which llama.cpp takes "
                        "where there is such a file",
                        repo, name.encoding));
      }
      read_model("--hf-repo", repo, name);
      return preset_;
    }
    GgufName name = gguf_name(file);
    const bool by_file = !name.preset.empty() || repo.empty();
    if (!by_file) {
      const GgufName of_repo = gguf_name(repo);
      name.preset = of_repo.preset, name.positions = of_repo.positions;
    }
    read_model("--hf-file", by_file ? file : repo, name);
    return preset_;
  }

  void read_model(const char* option, const std::string& path, const GgufName& name) {
    if (name.preset.empty()) {
      out_.unknown_model = path;
      warn_unread({"the model " + path + ", which is no preset"}, out_.warnings);
    } else {
      preset_ = name.preset;
      give(option, "model", json_quote(name.preset));
      if (name.positions > 0) give(option, "model.max_positions", std::to_string(name.positions));
    }
    read_encoding(option, path, name);
  }

  void read_encoding(const char* option, const std::string& path, const GgufName& name) {
    if (name.encoding.empty()) {
      if (!name.preset.empty()) {
        warn_unread({"how weights are quantised, which the name " + path + " does not say"},
                    out_.warnings);
      }
      return;
    }
    if (name.weights.empty()) {
      return warn_unread({"weights in " + name.encoding}, out_.warnings);
    }
    const bool plain = name.weights == "plain" || name.encoding.starts_with("mxfp4");
    if (name.encoding != name.weights && !plain) {
      near(fmt::format("weights in {}, which mixes formats, are read as {}", name.encoding,
                       name.weights));
    }
    give(option, "serving.weights", json_quote(name.weights));
    give(option, "serving.head_weights", json_quote(name.head));
    if (!name.experts.empty()) give(option, "serving.expert_weights", json_quote(name.experts));
    if (!name.dtype.empty()) give(option, "serving.dtype", json_quote(name.dtype));
  }

  Arguments& args_;
  Imported& out_;
  std::string preset_;
};

}  // namespace

std::string read_weights(Arguments& args, Imported& out) { return WeightsReader(args, out).read(); }

}  // namespace plait::llama_cpp
