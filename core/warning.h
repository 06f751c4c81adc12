#pragma once
// What a user should know of an answer that stands all the same. Code asks for `code` and `path`:
// `text` is for people, and may be worded anew.

#include <string>
#include <vector>

namespace plait {

struct Warning {
  std::string code;       // "W001"; documented in docs/errors.md
  std::string text;       // without the code
  std::string path = {};  // of a field that has no effect, dotted: "strategy.data"; else empty
};
using Warnings = std::vector<Warning>;

/// "W001: strategy.data has no effect: there is one replica".
std::string printed(const Warning& warning);
std::vector<std::string> printed(const Warnings& warnings);

/// From what was printed, as a stored report has it: code and text.
Warning read_warning(const std::string& printed);

void append(Warnings& to, Warnings more);

}  // namespace plait
