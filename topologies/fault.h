#pragma once
// Parts of the machine that work less than they should, by the names that links have in reports.

#include <string>

namespace plait {

/// All links of a part, or those between two parts, have `factor` of their bandwidth; 0: they do
/// not work at all. Parts are "node 3: nic 2", "node 0: device 1", "pod 0 leaf 2", "spine 5",
/// "group 1 router 0", ...
struct Fault {
  std::string at;
  std::string to = {};  // "": all links of `at`
  double factor = 0;
};

}  // namespace plait
