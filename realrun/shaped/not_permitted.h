#pragma once
// Shaped links need rights, two programs and parts of the kernel that not every machine has.

#include <stdexcept>

namespace plait {

/// Why shaped links cannot be laid out here, and what would help. Nobody's fault: exit code 77.
class NotPermitted : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace plait
