// Which dialect a file is in, by its content, and reading it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/split.h"
#include "core/utf16.h"
#include "scenarios/dialects/accelerate/accelerate.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/llama_cpp/llama_cpp.h"
#include "scenarios/dialects/manifest.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/dialects/shell/shell_words.h"
#include "scenarios/dialects/torchtitan/torchtitan.h"
#include "scenarios/dialects/vllm/vllm.h"
#include "scenarios/dialects/vllm/vllm_config.h"
#include "scenarios/dialects/vllm/vllm_words.h"
#include "scenarios/dialects/yaml_map.h"
#include "scenarios/file_kind.h"

namespace plait {

namespace {

constexpr std::string_view kImportable =
    "Megatron-LM, vLLM or llama.cpp arguments, vLLM's YAML, ds_config.json, adapter_config.json, "
    "torchtitan's TOML, or Accelerate's YAML or JSON";

/// Of JSON. Throws D001 where it says itself that it is something else.
Dialect dialect_of_object(const std::string& text, const std::string& file) {
  const FileKind kind = file_kind(text, file);
  switch (kind.format) {
    case FileFormat::kPeft: return Dialect::kPeft;
    case FileFormat::kAccelerate: return Dialect::kAccelerate;
    case FileFormat::kUnknown:  // the reader says what is wrong with it
    case FileFormat::kDeepSpeed: return Dialect::kDeepSpeed;
    case FileFormat::kScenario:
    case FileFormat::kOther: break;
  }
  throw InputError({"D001",
                    fmt::format("the file holds {}", kind.what),
                    {file, 0, 0, ""},
                    std::string(kImportable),
                    kind.cure});
}

/// The first line that says something.
std::string first_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && (line.empty() || line[0] == '#' || line[0] == '\r')) {
  }
  return line;
}

/// D001 for what `plait export` writes and nothing reads.
void refuse_modelfile(const std::string& text, const std::string& file) {
  if (!first_line(text).starts_with("FROM ") || text.find("\nPARAMETER ") == std::string::npos)
    return;
  throw InputError({"D001",
                    "the file is Ollama's, which is written and not read",
                    {file, 0, 0, ""},
                    std::string(kImportable),
                    "give the options of llama-server"});
}

/// YAML of programs that is not read, by their keys.
struct OtherYaml {
  std::string_view key, program, cure;
};
constexpr std::string_view kNamesAnother =
    "import the file of DeepSpeed or Accelerate that it names, and give the model and the batch "
    "with --base";
constexpr std::string_view kSameSizes =
    "write its sizes as Megatron-LM's options: --tensor-model-parallel-size 4, "
    "--micro-batch-size 1 and so on";
constexpr std::array<OtherYaml, 3> kOtherYaml = {{
    {"base_model", "of axolotl", kNamesAnother},
    {"model_name_or_path", "of LLaMA-Factory or TRL", kNamesAnother},
    {"tensor_model_parallel_size", "of NeMo or Megatron-Bridge", kSameSizes},
}};

/// D001.
void refuse_other_yaml(const std::string& text, const std::string& file) {
  for (const YamlKey& key : yaml_keys(text)) {
    const auto other = std::ranges::find(kOtherYaml, key.name, &OtherYaml::key);
    if (other == kOtherYaml.end()) continue;
    throw InputError({"D001",
                      fmt::format("the file looks like YAML {}, which is not read", other->program),
                      {file, key.line, 0, ""},
                      std::string(kImportable),
                      std::string(other->cure)});
  }
}

/// Where the key stands, in JSON or YAML: "pipe_parallel_size": 1; 0: it does not.
int line_of_key(const std::string& text, std::string_view key) {
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += key.size()) {
    constexpr std::string_view kBefore = " \t\r\n{,\"'";
    const bool begins = at == 0 || kBefore.find(text[at - 1]) != std::string_view::npos;
    const std::size_t behind = text.find_first_not_of("\"' ", at + key.size());
    if (!begins || behind == std::string::npos || text[behind] != ':') continue;
    return static_cast<int>(1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'));
  }
  return 0;
}

/// D001: its file has DeepSpeed's keys among its own (configs/README.md of EleutherAI/gpt-neox).
void refuse_gpt_neox(const std::string& text, const std::string& file) {
  for (const char* key :
       {"pipe_parallel_size", "pipe-parallel-size", "model_parallel_size", "model-parallel-size"}) {
    const int line = line_of_key(text, key);
    if (line == 0) continue;
    throw InputError({"D001",
                      "the file holds settings of GPT-NeoX, which are not read",
                      {file, line, 0, key},
                      std::string(kImportable),
                      "import its zero_optimization, types and batch as a ds_config.json, and give "
                      "the model, strategy.tp and strategy.pp with --base"});
  }
}

/// None where it is no script; of a manifest its containers'.
std::vector<ShellWord> words_of_script(const std::string& text, const std::string& file) {
  try {
    return shell_words(without_items(text), file);
  } catch (const InputError&) {
    return {};
  }
}

/// Options of Megatron-LM that no other program here has.
bool is_megatrons(const std::string& text) {
  return text.find("-model-parallel-size") != std::string::npos ||
         text.find("--num-layers") != std::string::npos ||
         text.find("--micro-batch-size") != std::string::npos;
}

/// By the commands that start a program, else by words of the text that are no comment.
std::optional<Dialect> dialect_of_commands(const std::vector<ShellWord>& words,
                                           const std::string& commands) {
  if (starts_program(words, llama_cpp::started())) return Dialect::kLlamaCpp;
  if (starts_program(words, vllm::started())) return Dialect::kVllm;
  if (std::ranges::any_of(words, [](const ShellWord& w) { return is_megatrons(w.text); }))
    return Dialect::kMegatronCore;
  if (llama_cpp::is_named_in(commands)) return Dialect::kLlamaCpp;
  const auto has = [&](const char* word) { return commands.find(word) != std::string::npos; };
  if (has("vllm") || has("--tensor-parallel-size")) return Dialect::kVllm;
  if (is_megatrons(commands)) return Dialect::kMegatronCore;
  return std::nullopt;
}

/// Servers whose options are not read, by what starts them.
struct OtherServer {
  std::string_view command, program, cure;
};
constexpr std::string_view kAsVllm =
    "write its sizes as vLLM's options: vllm serve MODEL --tensor-parallel-size 4 and so on";
constexpr std::array<OtherServer, 6> kOtherServers = {
    {{"sglang.launch_server", "SGLang", kAsVllm},
     {"sglang", "SGLang", kAsVllm},
     {"trtllm-serve", "TensorRT-LLM", kAsVllm},
     {"text-generation-launcher", "Text Generation Inference", kAsVllm},
     {"lmdeploy", "LMDeploy", kAsVllm},
     {"ollama", "Ollama",
      "write what it runs as llama-server's options: llama-server -m MODEL.gguf -c 4096"}}};

/// D001 for the command of another server.
void refuse_other_server(const std::vector<ShellWord>& words, const std::string& file) {
  for (const ShellWord& word : words) {
    const auto other = std::ranges::find(kOtherServers, word.text, &OtherServer::command);
    if (other == kOtherServers.end()) continue;
    throw InputError(
        {"D001",
         fmt::format("the script starts {}, whose options are not read", other->program),
         {file, word.line, 0, ""},
         std::string(kImportable),
         std::string(other->cure)});
  }
}

/// D001 for a script that starts another one.
void refuse_wrapper(const std::vector<ShellWord>& words, const std::string& file) {
  std::string before;
  for (const ShellWord& word : words) {
    for (const std::string& part : split(word.text, ' ')) {
      const bool is_script =
          part.ends_with(".sh") || part.ends_with(".slurm") || part.ends_with(".sbatch");
      const bool starts = before == "bash" || before == "sh" || before == "sbatch" ||
                          before == "srun" || part.starts_with("./");
      const bool reads = before == "source" || before == ".";
      if (is_script && starts && !reads) {
        throw InputError({"D001",
                          fmt::format("the script starts another one, {}", part),
                          {file, word.line, 0, ""},
                          std::string(kImportable),
                          "import that script, with the variables that this one sets for it"});
      }
      if (!part.empty()) before = part;
    }
  }
}

/// D001 for a script that starts a program with settings in a file of their own.
void refuse_launcher(const std::vector<ShellWord>& words, const std::string& file) {
  constexpr std::array<std::string_view, 4> kNamers = {"--deepspeed", "--deepspeed_config",
                                                       "--config_file", "--config-file"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& named = words[i + 1].text;
    const bool is_file =
        named.ends_with(".json") || named.ends_with(".yaml") || named.ends_with(".yml");
    if (!is_file || std::ranges::count(kNamers, words[i].text) == 0) continue;
    throw InputError({"D001",
                      "the script starts a program whose settings are in a file of their own",
                      {file, words[i].line, 0, words[i].text},
                      std::string(kImportable),
                      fmt::format("import the file that {} names: {}", words[i].text, named)});
  }
}

/// D001: of every second byte of it nothing would be read.
void refuse_utf16(std::string_view text, const std::string& file) {
  if (!is_utf16(text)) return;
  throw InputError({"D001",
                    "the file is in UTF-16",
                    {file, 0, 0, ""},
                    "text in UTF-8",
                    "save it as UTF-8: iconv -f UTF-16 -t UTF-8"});
}

}  // namespace

Imported read_settings(const std::string& text, const std::string& file, Dialect dialect) {
  const DialectRow& row = row_of(dialect);
  PLAIT_CHECK(row.reads(), "a dialect that is only written");
  refuse_utf16(text, file);
  Imported out = row.read(std::string(without_mark(text)), file);
  if (!out.foreign) return out;
  throw InputError(
      {"D010",
       fmt::format("nothing in the file is of the dialect {}: {}", row.name, row.target),
       {file, 0, 0, ""},
       "one option or key of that program at least",
       "name the dialect that the file is in: --from"});
}

Dialect detect_dialect(const std::string& marked, const std::string& file) {
  refuse_utf16(marked, file);
  const std::string text(without_mark(marked));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    throw InputError({"D001",
                      "the file holds nothing",
                      {file, 0, 0, ""},
                      std::string(kImportable),
                      "name a file that is not empty"});
  }
  const std::string commands = commands_of(text);
  refuse_gpt_neox(commands, file);
  if (text[first] == '{') return dialect_of_object(text, file);
  refuse_modelfile(text, file);
  if (!torchtitan::config_in(text).empty()) return Dialect::kTorchtitan;
  if (accelerate::config_in(text)) return Dialect::kAccelerate;
  if (vllm::is_config(text)) return Dialect::kVllm;
  const std::vector<ShellWord> words = words_of_script(text, file);
  if (const auto dialect = dialect_of_commands(words, commands)) return *dialect;
  refuse_other_yaml(text, file);
  refuse_other_server(words, file);
  refuse_launcher(words, file);
  refuse_wrapper(words, file);
  throw InputError({"D001",
                    "the content is of no format that can be imported",
                    {file, 0, 0, ""},
                    std::string(kImportable),
                    "if it is one of these, name its dialect with --from"});
}

}  // namespace plait
