#include "prediction/search/question.h"

#include "core/error.h"

namespace plait {

std::string_view name_of(Objective objective) {
  switch (objective) {
    case Objective::kTime: return "time";
    case Objective::kCost: return "cost";
    case Objective::kEnergy: return "energy";
    case Objective::kGpus: return "gpus";
  }
  return "";
}

Objective objective_named(std::string_view name) {
  for (const Objective o : {Objective::kTime, Objective::kCost, Objective::kEnergy}) {
    if (name_of(o) == name) return o;
  }
  PLAIT_CHECK(name_of(Objective::kGpus) == name, "no such objective");
  return Objective::kGpus;
}

}  // namespace plait
