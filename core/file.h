#pragma once
// Files are read whole.

#include <cstddef>
#include <string>

namespace plait {

/// The content of a file, or of standard input for "-". Throws InputError J001 to J004.
std::string read_text_file(const std::string& path);
/// What messages call it: its path, or "<stdin>".
std::string input_name(const std::string& path);

/// Of a text that is read: more is refused (J004).
constexpr std::size_t kMostBytes = 64 << 20;

}  // namespace plait
