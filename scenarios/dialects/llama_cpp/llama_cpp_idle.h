#pragma once
// Options of llama.cpp that change neither time nor memory.

#include "scenarios/dialects/arguments.h"

namespace plait::llama_cpp {

/// They count as read.
void pass_over_idle(Arguments& arguments);

}  // namespace plait::llama_cpp
