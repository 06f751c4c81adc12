#include "scenarios/published/fused_of.h"

#include <algorithm>
#include <initializer_list>
#include <regex>
#include <string>
#include <string_view>

#include "core/spelling.h"

namespace plait {
namespace {

/// What texts call an op, and the kernels of a scenario that are meant.
struct OpWords {
  const char* pattern;
  const char* kernel;
};
constexpr OpWords kFusedOps[] = {
    {R"((?:dropout[- ]?add[- ]?)?(?:layer ?|rms ?)?norms?)", "norm"},
    {R"(rope|rotary(?: embeddings?| positions?)?)", "rope"},
    {R"(swiglu|geglu|glu|silu(?: mul)?|(?:bias )?gelu|bias swiglu|activations?)", "activation"},
    {R"((?:linear )?cross[- ]entropy(?: loss)?|ce(?: loss)?)", "cross_entropy"},
};

/// Ops that stand in such lists too, and are of other fields or of none.
constexpr const char* kOtherOps =
    R"((?:the )?(?:dense|linear|mlp|softmax|attention|adamw?|optimi[sz]er|kernels?|ops?|bias|dropout(?: add)?|residual))";

/// What a text calls one op; null: none of these.
const char* kernel_called(const std::string& words) {
  for (const OpWords& op : kFusedOps) {
    if (std::regex_match(words, std::regex(op.pattern))) return op.kernel;
  }
  return nullptr;
}

std::string without_blanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The ops of a list that stand in a row, from its first on; "=false" behind one denies it.
void add_list(const std::string& list, nlohmann::ordered_json& kernels) {
  static const std::regex kBetween(R"(\s*(?:,|/|\+|&|\band\b)\s*)");
  for (std::sregex_token_iterator at(list.begin(), list.end(), kBetween, -1), end; at != end;
       ++at) {
    std::string words = without_blanks(at->str());
    const std::size_t equals = words.find('=');
    const bool denied = equals != std::string::npos && words.ends_with("=false");
    words.resize(std::min(words.size(), equals));
    const char* kernel = kernel_called(words);
    if (kernel == nullptr && !std::regex_match(words, std::regex(kOtherOps))) return;
    if (kernel != nullptr) kernels[kernel] = denied ? "eager" : "fused";
  }
}

/// In small letters, names' underscores as blanks.
std::string kernel_words(const PublishedRun& run) {
  std::string out = lower_case(run.kernel + "; " + run.notes);
  std::ranges::replace(out, '_', ' ');
  return out;
}

void fuse(nlohmann::ordered_json& kernels, std::initializer_list<const char*> names) {
  for (const char* name : names) kernels[name] = "fused";
}

}  // namespace

void add_fused(nlohmann::ordered_json& kernels, const PublishedRun& run) {
  const std::string text = kernel_words(run);
  // Liger-Kernel, src/liger_kernel/transformers/monkey_patch.py: rope, rms_norm, swiglu and
  // fused_linear_cross_entropy are what each model is patched with by default.
  if (has_pattern(text, R"(\bliger)"))
    fuse(kernels, {"norm", "rope", "activation", "cross_entropy"});
  // flash-attention, README: layers and losses of csrc and flash_attn/ops.
  if (has_pattern(text, R"(flash[- ]attn(?:'s)? (?:fused )?ops|fused ops of flash)"))
    fuse(kernels, {"norm", "rope", "cross_entropy"});
  if (has_pattern(text,
                  R"(\b(?:apex|triton)(?:'s)? (?:fused )?(?:layer ?|rms ?)?norm|\brms kernel)"))
    fuse(kernels, {"norm"});
  // "no fused ...", "not fused" and "unfused" name none.
  static const std::regex kFused(R"((\b(?:no|not|non|without)[ -])?\bfused ([^;:.()]*))");
  for (std::sregex_iterator at(text.begin(), text.end(), kFused), end; at != end; ++at) {
    if (!(*at)[1].matched) add_list((*at)[2].str(), kernels);
  }
}

}  // namespace plait
