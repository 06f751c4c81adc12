// How the weights of a model are stored that is described by its checkpoint's config.json.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

WeightFormat weights_named(std::string_view name) {
  return *std::ranges::find(kWeightFormats, name, [](WeightFormat f) { return name_of(f); });
}

struct LinearLayers {
  WeightFormat weights = WeightFormat::kPlain;
  std::optional<DType> products;
};
LinearLayers layers_of(std::string_view weights, std::string_view products, const Device& device) {
  if (products == "plain") return {weights_named(weights), std::nullopt};
  if (const auto widened = widened_on(device, products)) return {*widened, std::nullopt};
  return {WeightFormat::kPlain, products == name_of(DType::kFp8) ? DType::kFp8 : DType::kNvfp4};
}

}  // namespace

void resolve_checkpoint(const Json& serving, const HfQuantization& checkpoint, const Device& device,
                        Serving& out, Warnings& warnings) {
  const bool reads_checkpoints = out.limits.engine != ServingEngine::kLlamaCpp;
  if (reads_checkpoints && checkpoint.fp8_cache && serving.find("kv_cache") == nullptr) {
    out.precision.kv_cache = DType::kFp8;
  }
  for (const char* key : {"weights", "expert_weights", "products", "expert_products"}) {
    if (serving.find(key) != nullptr) return;
  }
  const CheckpointFormat* format = reads_checkpoints ? format_in_config(checkpoint) : nullptr;
  if (format == nullptr) {
    warnings.push_back(
        {"W002",
         fmt::format("model.hf_config: ignored quantization_config, {}: set serving.weights",
                     reads_checkpoints ? fmt::format("whose quant_method \"{}\" has no format here",
                                                     checkpoint.method)
                                       : "which is of another engine's checkpoint")});
    return;
  }
  const LinearLayers all = layers_of(format->weights, format->products, device);
  const LinearLayers experts = layers_of(format->experts, format->expert_products, device);
  ServingPrecision& p = out.precision;
  p.weights = all.weights, p.products = all.products;
  p.experts = experts.weights, p.expert_products = experts.products;
  if (format->lost.empty()) return;
  warnings.push_back({"W008", fmt::format("weights in {} have {}", format->name, format->lost)});
}

}  // namespace plait
