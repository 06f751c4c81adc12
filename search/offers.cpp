#include "search/offers.h"

#include <algorithm>

namespace plait {

std::vector<FrameworkOffer> offers_of(const Scenario& scenario) {
  const Framework* framework = find_framework(scenario.framework);
  if (framework == nullptr) return {};
  std::vector<FrameworkOffer> out = framework->offers;
  std::erase_if(out, [&scenario](const FrameworkOffer& offer) {
    return offer.of_mixtures && scenario.model.experts == 0;
  });
  return out;
}

bool are_offered(const std::vector<FrameworkOffer>& offers, const std::vector<Override>& sets) {
  return std::ranges::all_of(sets, [&offers](const Override& set) {
    return std::ranges::all_of(offers, [&set](const FrameworkOffer& offer) {
      const bool same = offer.path == set.path || offer.path == set.path + ".kind";
      return !same || std::ranges::count(offer.values, set.value) > 0;
    });
  });
}

}  // namespace plait
