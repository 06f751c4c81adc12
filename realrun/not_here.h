#pragma once
// What was asked for cannot be had on this machine, and nothing is wrong with that: a GPU where
// there is none. Exit code 77.

#include <stdexcept>

namespace plait {

class NotHere : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace plait
