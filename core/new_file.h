#pragma once
// A file written piece by piece that appears whole or not at all: beside its final name until
// `finish`, which renames it. What is not a regular file (a pipe, a terminal, /dev/null) is written
// directly.

#include <cstdio>
#include <string>
#include <string_view>

namespace plait {

/// Makes the folder, and those that it lies in, where they are not there. Throws EnvironmentError.
void new_folder(const std::string& path);

/// Removes what NewFiles that are not finished have written, without their knowledge: for the
/// handler of a signal that ends the program, which may call nothing else of this file.
void remove_unfinished_files() noexcept;

class NewFile {
 public:
  /// Throws EnvironmentError when the file cannot be created.
  explicit NewFile(const std::string& path);
  /// Without `finish`, nothing is left behind.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Both throw EnvironmentError (disk full, ...).
  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail(const std::string& what);

  std::string path_, partial_;  // partial_ empty: written directly
  std::FILE* file_ = nullptr;
};

/// A NewFile of this content. Throws EnvironmentError.
void write_file(const std::string& path, std::string_view content);

}  // namespace plait
