#pragma once
// Why a published run has no scenario.

#include <stdexcept>

namespace plait {

/// What it says is for people.
class NotRepresentable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plait
