#include "prediction/narrower_release.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "scenarios/dialects/checkpoint_names.h"

namespace plait {

std::string narrower_release(const std::string& model, const ServingPrecision& p) {
  const CheckpointFormat* format = published_format(model);
  const bool plain = p.weights == WeightFormat::kPlain && p.experts == WeightFormat::kPlain &&
                     !p.products && !p.expert_products;
  if (format == nullptr || !plain) return "";
  std::vector<std::string> fields;
  const auto add = [&](const char* key, std::string_view value, std::string_view usual) {
    if (value != usual) fields.push_back(fmt::format("serving.{}={}", key, value));
  };
  add("weights", format->weights, "plain");
  add("expert_weights", format->experts, format->weights);
  add("products", format->products, "plain");
  add("expert_products", format->expert_products, format->products);
  return fmt::format("{}", fmt::join(fields, " "));
}

}  // namespace plait
