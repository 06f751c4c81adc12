#pragma once
// What a long command is doing, for a handler of signals to say when it ends it.

#include <string>

namespace plait {

/// From now on: "serving, 1,200 of 24,000 tokens". "": nothing.
void take_in_hand(const std::string& work);

/// Writes "interrupted: serving, 1,200 of 24,000 tokens: there is no result" to standard error,
/// unless nothing is in hand. Safe in a handler of signals.
void say_interrupted() noexcept;

}  // namespace plait
