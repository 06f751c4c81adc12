#pragma once
// Which checkpoint `vllm serve` loads for a scenario: the release of its model on huggingface.co
// where that has the scenario's weights, or can be cast to them while it loads; else one that the
// user has to name, with what it has to be.

#include "scenarios/dialects/export_draft.h"

namespace plait::vllm {

/// A checkpoint that ModelOpt has written, which vLLM does not make of another.
bool is_quantised_to_four(const ServingPrecision& precision);

/// The name, or "$MODEL" with what it is to be.
void write_model(ExportDraft& draft);

}  // namespace plait::vllm
