#pragma once
// What a long command is doing, for a handler of signals to say when it ends it.

#include <string>

namespace plait {

/// From now on: "serving, 1,200 of 24,000 tokens". "": nothing.
void take_in_hand(const std::string& work);

/// From now on what is done is in this file, row by row, and the same command goes on from there.
void keeps_rows_in(const std::string& file);

/// Writes "interrupted: serving, 1,200 of 24,000 tokens: there is no result" to standard error, or
/// in which file its rows are, unless nothing is in hand. Safe in a handler of signals.
void say_interrupted() noexcept;

}  // namespace plait
