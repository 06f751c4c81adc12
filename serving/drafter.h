#pragma once
// The model that guesses tokens (plan/speculation.h), and what that costs. It runs on the same
// ranks as the model that it guesses for, over the same tp, behind each step (vLLM's proposers,
// vllm/v1/spec_decode): once over all tokens of the step, whose keys and values it keeps too, and
// then, a token of each sequence at a time, for each further guess:
//   t = t_model(step) + t_drafter(step) + (k - 1) t_drafter(one token of each sequence)
//
//   draft_model  a model of its own
//   mtp, eagle   one layer like the model's last one, and its head (Li et al. 2024, EAGLE;
//                DeepSeek-AI 2024, DeepSeek-V3, section 2.2). The projection of hidden state and
//                embedding in front of the layer, 4 h^2 FLOPs of a token, is not counted.

#include <map>
#include <optional>

#include "plan/speculation.h"
#include "serving/step_costs.h"

namespace plait {

struct Drafter {
  ServedModel model;
  Bytes weights;          // on each rank, besides those of the model that it guesses for
  Bytes bytes_per_token;  // of its own keys and values, on each rank
};

/// Nothing where nothing or the host guesses.
std::optional<Drafter> drafter_of(const ServedModel& served, const Speculation& speculation);

/// What steps and the guessing behind them take, once per shape.
class DraftedCosts {
 public:
  /// `served` and `drafter` outlive it; `guesses`: k.
  DraftedCosts(const ServedModel& served, const Drafter& drafter, std::int64_t guesses)
      : target_(served), draft_(drafter.model), guesses_(guesses) {}
  const StepTime& operator()(const Step& step);
  std::size_t shapes() const { return target_.shapes() + draft_.shapes(); }

 private:
  StepCosts target_, draft_;
  std::int64_t guesses_;
  std::map<StepCosts::Key, StepTime> known_;
};

}  // namespace plait
