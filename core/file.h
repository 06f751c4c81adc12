#pragma once
// Files are read whole and written whole or not at all.

#include <string>
#include <string_view>

namespace plait {

/// Replaces `path` by a file with this content: written beside it under another name, then renamed,
/// so a reader never sees half a file. Throws EnvironmentError.
void write_file(const std::string& path, std::string_view content);

}  // namespace plait
