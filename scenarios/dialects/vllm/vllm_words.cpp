#include "scenarios/dialects/vllm/vllm_words.h"

#include <algorithm>

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/manifest.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/dialects/vllm/vllm_config.h"

namespace plait::vllm {
namespace {

/// vllm/engine/arg_utils.py.
constexpr Alias kAliases[] = {{"-tp", "--tensor-parallel-size"},
                              {"-pp", "--pipeline-parallel-size"},
                              {"-dp", "--data-parallel-size"},
                              {"-q", "--quantization"}};

bool has(const ShellWord& w, std::string_view part) {
  return w.text.find(part) != std::string::npos;
}
bool names_vllm(const ShellWord& w) { return has(w, "vllm") && !w.text.starts_with('-'); }
bool is_module(const ShellWord& w) { return has(w, "vllm.entrypoints"); }
bool serves(const ShellWord& w, const ShellWord& next) {
  return names_vllm(w) && next.text == "serve";
}

}  // namespace

StartedProgram started() {
  return {"vLLM",
          {serves, [](const ShellWord& w, const ShellWord&) { return is_module(w); },
           [](const ShellWord& w, const ShellWord&) {
             return has(w, "vllm-openai") || w.text.starts_with("rocm/vllm");
           }}};
}

std::vector<ShellWord> words_of(const std::string& text, const std::string& file,
                                Warnings& warnings) {
  if (is_config(text)) return with_names(words_of_config(text, file, warnings), kAliases);
  std::vector<ShellWord> words = shell_words(without_items(text), file, &warnings);
  words = is_manifest(text) ? words_of_container(std::move(words), text, started(), file)
                            : words_behind_program(std::move(words), started(), file);
  words = with_written_config(std::move(words), text, file, warnings);
  auto named = std::ranges::adjacent_find(words, serves);
  if (named == words.end()) named = std::ranges::find_if(words, is_module);
  if (named == words.end()) named = std::ranges::find_if(words, names_vllm);
  if (named == words.end()) return with_names(std::move(words), kAliases);
  const auto is_short = [](const ShellWord& w) {
    return w.text.starts_with('-') && !w.text.starts_with("--");
  };
  words.erase(std::remove_if(words.begin(), named, is_short), named);
  return with_names(std::move(words), kAliases);
}

}  // namespace plait::vllm
