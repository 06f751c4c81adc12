#pragma once
// Which knobs a comparison varies: "strategy.tp=1,2,4,8" or a range, "strategy.pp=1-16*2".

#include <string>
#include <vector>

#include "core/override.h"

namespace plait {

/// One knob and the values that it takes, as text.
struct Variation {
  std::string path;
  std::vector<std::string> values;
  std::string option = "-L";  // which said so
};

/// "path=value"; the value may contain "=". Throws InputError G003.
Override split_assignment(const std::string& text);

/// Values are separated by commas outside of quotes and brackets. A value lo-hi of two whole
/// numbers stands for lo, lo+1, ..., hi; lo-hi+k for steps of k; lo-hi*k for factors of k. Throws
/// InputError G004.
Variation parse_variation(const std::string& text);

using Assignments = std::vector<Override>;

/// "tp=4", the last word of the path.
std::string short_name(const Override& set);

/// Short names of all, behind one another; of paths with the same last word the last two:
/// "prefill.tp=4 decode.tp=8".
std::string label_of(const Assignments& sets);

/// "--set strategy.tp=8 --set ...", as a shell takes it.
std::string set_options(const Assignments& sets);

/// These, with a field before those inside of it ("cluster" before "cluster.nodes"), which it
/// would undo.
Assignments outer_first(Assignments sets);

/// Every combination, the last variation changing fastest; one empty combination when there are no
/// variations. Throws InputError G005 when there are more than a million.
std::vector<Assignments> combinations(const std::vector<Variation>& variations);

}  // namespace plait
