#pragma once
// What is asked of llama.cpp's programs where the base does not say: one user who asks again when
// answered, as at home; of llama-bench its test, a prompt of -p tokens behind -d others and an
// answer of -n.

#include "scenarios/dialects/arguments.h"

namespace plait::llama_cpp {

void read_load(Arguments& args, bool benchmark, Imported& out);

}  // namespace plait::llama_cpp
