#include "scenarios/dialects/vllm/vllm_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "model/presets.h"
#include "scenarios/dialects/checkpoint_names.h"

namespace plait::vllm {
namespace {

constexpr const char* kQuantization = "--quantization";

/// A method, and the formats of checkpoints that it loads; the first of them where the name says
/// none. "plain": it quantises what is not.
struct Method {
  std::string_view name;
  std::vector<std::string_view> formats;
};
/// vllm/model_executor/layers/quantization/__init__.py.
const std::vector<Method>& methods() {
  static const std::vector<Method> all = {
      {"fp8", {"fp8", "plain"}},
      {"fbgemm_fp8", {"fp8"}},
      {"ptpc_fp8", {"fp8", "plain"}},
      {"fp8_per_tensor", {"fp8", "plain"}},
      {"fp8_per_block", {"fp8", "plain"}},
      {"fp8_per_channel", {"fp8", "plain"}},
      {"awq", {"int4"}},
      {"auto_awq", {"int4"}},
      {"awq_marlin", {"int4"}},
      {"gptq", {"int4", "int8"}},
      {"auto_gptq", {"int4", "int8"}},
      {"gptq_marlin", {"int4", "int8"}},
      {"moe_wna16", {"int4", "int8"}},
      {"int8_per_channel_weight_only", {"int8", "plain"}},
      {"experts_int8", {}},
      {"bitsandbytes", {"nf4", "plain", "int4"}},
      {"modelopt", {"fp8", "nvfp4", "nvfp4 experts"}},
      {"modelopt_fp4", {"nvfp4", "nvfp4 experts"}},
      {"mxfp4", {"mxfp4 experts", "mxfp4"}},
      {"gpt_oss_mxfp4", {"mxfp4 experts"}},
      {"compressed-tensors",
       {"", "fp8", "int8", "w8a8", "int4", "nvfp4", "nvfp4 experts", "nvfp4a16", "mxfp4"}},
  };
  return all;
}

/// The format that `method` loads or makes of a checkpoint in `named`, null where nothing says.
const CheckpointFormat* format_by(Arguments& args, const Method& method,
                                  const CheckpointFormat* named, const std::string& model) {
  const std::string_view first = method.formats.front();
  const CheckpointFormat* own = first.empty() ? nullptr : &checkpoint_format(first);
  if (named == nullptr || named->name == "plain") return own;
  if (std::ranges::count(method.formats, named->name) == 0) {
    args.contradiction(kQuantization,
                       fmt::format("{}, which has weights in {}", model, named->name));
  }
  return named;
}

/// Models whose MLP is padded before it is quantised, so that groups of 128 divide over devices:
/// Qwen2.5-72B-Instruct-GPTQ-Int4 and its kin, config.json.
struct Padded {
  std::string_view preset;
  std::int64_t ffn_hidden;
};
constexpr Padded kPadded[] = {{"qwen-2.5-72b", 29696}};

void give_padding(Imported& out, const CheckpointFormat& f, const NamedModel& model) {
  const bool grouped = f.weights == "int4" || (f.weights == "int8" && f.lost.empty());
  const auto* padded = std::ranges::find(kPadded, model.preset, &Padded::preset);
  if (!grouped || padded == std::end(kPadded)) return;
  out.give("model.ffn_hidden", std::to_string(padded->ffn_hidden), model.line);
}

void give_format(Imported& out, const CheckpointFormat& f, const NamedModel& model, int line) {
  const auto give = [&](const char* key, std::string json) {
    out.give(std::string("serving.") + key, std::move(json), line);
  };
  give("weights", json_quote(f.weights));
  const Model* known = find_preset(model.preset);
  const bool differ = f.experts != f.weights || f.expert_products != "plain";
  const bool apart = known == nullptr ? differ : known->experts > 0;
  if (apart) give("expert_weights", json_quote(f.experts));
  give("products", json_quote(f.products));
  if (apart) give("expert_products", json_quote(f.expert_products));
  if (!f.lost.empty()) {
    out.warnings.push_back({"W008", fmt::format("weights in {} have {}", f.name, f.lost)});
  }
}

}  // namespace

void read_quantization(Arguments& args, Imported& out, const NamedModel& model) {
  const CheckpointFormat* format = format_in_name(model.name, model.preset);
  int line = 0;  // of a name it is no setting of serving: a base may train what is served
  if (const auto by = args.text(kQuantization)) {
    const auto method = std::ranges::find(methods(), *by, &Method::name);
    if (method == methods().end() || method->formats.empty()) {
      args.unsupported(kQuantization, "weights by " + *by);
    }
    format = format_by(args, *method, format, model.name);
    line = args.line(kQuantization);
    if (format == nullptr) {
      warn_unread({fmt::format("{} {}, whose format the checkpoint's name does not say",
                               kQuantization, *by)},
                  out.warnings);
    }
  }
  if (format == nullptr) return;
  give_format(out, *format, model, line);
  give_padding(out, *format, model);
}

}  // namespace plait::vllm
