#include "scenarios/dialects/vllm/vllm_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::vllm {
namespace {

bool is_plain(const ServingPrecision& p) {
  return p.weights == WeightFormat::kPlain && p.experts == WeightFormat::kPlain;
}

std::string_view products_of(const ServingPrecision& p) {
  return p.products ? name_of(*p.products) : "plain";
}

/// The release has the scenario's weights. What is published in one plain type vLLM casts itself
/// (--dtype, --quantization fp8).
bool is_published_so(const Scenario& s) {
  const CheckpointFormat* format = published_format(s.model.name);
  if (!s.serving) return format == nullptr;
  const ServingPrecision& p = s.serving->precision;
  if (is_quantised_to_four(p) || p.head != WeightFormat::kPlain) return false;
  if (format == nullptr) return is_plain(p);
  return name_of(p.weights) == format->weights && products_of(p) == format->products &&
         (p.products || name_of(p.experts) == format->experts);
}

/// "linear layers in int4, experts in int4".
std::string what_it_has(const ServingPrecision& p) {
  std::vector<std::string> parts;
  const auto add = [&](const char* layers, std::string_view in) {
    if (in != "plain") parts.push_back(fmt::format("{} in {}", layers, in));
  };
  add("linear layers", p.products ? name_of(*p.products) : name_of(p.weights));
  add("experts", p.expert_products ? name_of(*p.expert_products) : name_of(p.experts));
  add("the output matrix", name_of(p.head));
  if (parts.empty()) parts.push_back(fmt::format("weights in {}", name_of(p.activations)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

bool is_quantised_to_four(const ServingPrecision& p) {
  return p.products == DType::kNvfp4 || p.expert_products == DType::kNvfp4;
}

void write_model(ExportDraft& d) {
  const Scenario& s = d.scenario;
  const bool released = is_published_so(s);
  const std::string_view hub = released ? hub_name_of(s.model) : "";
  d.set("", hub.empty() ? "\"$MODEL\"" : std::string(hub));
  if (!hub.empty()) {
    d.say({"model"});
    if (published_format(s.model.name) != nullptr) {
      d.say({"serving.weights", "serving.expert_weights"});
    }
  } else if (!released && s.serving) {
    d.ask(fmt::format("MODEL: a checkpoint of {} with {}", s.model.name,
                      what_it_has(s.serving->precision)));
  }
}

}  // namespace plait::vllm
