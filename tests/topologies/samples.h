#pragma once
// What other programs printed: the files of tests/topologies/samples.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace plait {

inline std::string sample(const std::string& name) {
  std::ifstream in(std::string(PLAIT_SOURCE_DIR) + "/tests/topologies/samples/" + name);
  EXPECT_TRUE(in) << name;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace plait
