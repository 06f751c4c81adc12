#pragma once
// What cannot be planned: an InputError that names the scenario's field. The loader of the scenario
// knows where in the file that field stands and adds it.

#include <string>

#include "core/error.h"

namespace plait {

/// `path`: the field, "strategy.tp".
inline InputError refusal(const char* code, std::string problem, std::string path,
                          std::string expected, std::string cure) {
  return InputError({code,
                     std::move(problem),
                     {"", 0, 0, std::move(path)},
                     std::move(expected),
                     std::move(cure)});
}

}  // namespace plait
