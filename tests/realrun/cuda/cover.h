#pragma once
// Few cases of the matrix that have between them whatever one of all cases has.

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "realrun/matrix/matrix.h"

namespace plait {

/// `taken`, and of the other cases again and again the first of those that bring most kinds which
/// none before had. `kinds_of` gives the names of a case's kinds.
template <typename KindsOf>
std::vector<MatrixCase> covering(const std::vector<MatrixCase>& cases, KindsOf kinds_of,
                                 std::vector<MatrixCase> taken) {
  std::set<std::string> had;
  for (const MatrixCase& c : taken) std::ranges::copy(kinds_of(c), std::inserter(had, had.end()));
  std::vector<std::set<std::string>> kinds;
  for (const MatrixCase& c : cases) {
    const auto of_case = kinds_of(c);
    kinds.emplace_back(of_case.begin(), of_case.end());
  }
  while (true) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::erase_if(kinds[i], [&](const std::string& kind) { return had.contains(kind); });
      if (kinds[i].size() > most) best = i, most = kinds[i].size();
    }
    if (most == 0) return taken;
    taken.push_back(cases[best]);
    had.insert(kinds[best].begin(), kinds[best].end());
  }
}

}  // namespace plait
