#pragma once
// A file of the tree that is part of the program: cmake/EmbedFiles.cmake writes the functions that
// return such files.

#include <string_view>
#include <vector>

namespace plait {

struct EmbeddedFile {
  std::string_view path;  // below its folder: "devices/h100-sxm.json"
  std::string_view text;
};

}  // namespace plait
