#include "scenarios/published/fused_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "core/spelling.h"
#include "scenarios/published/phrases.h"

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

std::string without_blanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// "rmsnorm=false", "rmsnorm not used", "rmsnorm kernels", "rmsnorm": the kernel, and whether it is
/// denied.
struct ListedOp {
  const char* kernel;  // null: none of these, though an op
  bool denied;
};
std::optional<ListedOp> listed_op(const std::string& words) {
  const auto begins_with = [&](const char* pattern) -> std::optional<bool> {
    const std::vector<Mention> found =
        mentions_of(words, fmt::format(R"(^(?:{})(?: kernels?| ops?)?(?![\w-]))", pattern));
    if (found.empty()) return std::nullopt;
    const bool asserts = has_pattern(words.substr(found[0].words.size()),
                                     R"(^\s*(?:[=:]? ?(?:true|on|yes|1|used|enabled))?$)");
    return found[0].denied || asserts ? std::optional(found[0].denied) : std::nullopt;
  };
  for (const OpWords& op : kFusedOps) {
    if (const auto denied = begins_with(op.pattern)) return ListedOp{op.kernel, *denied};
  }
  if (const auto denied = begins_with(kOtherOps)) return ListedOp{nullptr, *denied};
  return std::nullopt;
}

/// The ops of a list that stand in a row, from its first on.
void add_list(const std::string& list, bool denied, nlohmann::ordered_json& kernels) {
  static const std::regex kBetween(R"(\s*(?:,|/|\+|&|\band\b)\s*)");
  for (std::sregex_token_iterator at(list.begin(), list.end(), kBetween, -1), end; at != end;
       ++at) {
    const std::optional<ListedOp> op = listed_op(without_blanks(at->str()));
    if (!op) return;
    if (op->kernel != nullptr) kernels[op->kernel] = op->denied != denied ? "eager" : "fused";
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
  if (says(run, Phrase::kLiger)) fuse(kernels, {"norm", "rope", "activation", "cross_entropy"});
  // flash-attention, README: layers and losses of csrc and flash_attn/ops.
  if (asserted(text, R"(flash[- ]attn(?:'s)? (?:fused )?ops|fused ops of flash)"))
    fuse(kernels, {"norm", "rope", "cross_entropy"});
  if (asserted(text, R"(\b(?:apex|triton)(?:'s)? (?:fused )?(?:layer ?|rms ?)?norm|\brms kernel)"))
    fuse(kernels, {"norm"});
  for (const Mention& place : mentions_of(text, R"(\bfused ([^;:.()]*))")) {
    add_list(place.groups[0], place.denied, kernels);
  }
}

}  // namespace plait
