#pragma once
// The text of a file, piece by piece, however large it is; of a gzip file what it holds.

#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "core/watch.h"

namespace plait {

/// To be read through a std::istream. `watch` is told of bytes of the file.
class UnzippedText : public std::streambuf {
 public:
  /// Throws InputError J001 to J003 where `path` ("-": standard input) cannot be read,
  /// EnvironmentError where it is a gzip file and the build has no zlib.
  explicit UnzippedText(const std::string& path, Watch watch = {});
  ~UnzippedText() override;
  UnzippedText(const UnzippedText&) = delete;
  UnzippedText& operator=(const UnzippedText&) = delete;

  /// What it begins with: at most some kilobytes. Before anything else is read.
  std::string_view first() const { return {eback(), static_cast<std::size_t>(egptr() - eback())}; }

 protected:
  /// Throws InputError J003, K011 for a gzip file that is damaged or not whole.
  int_type underflow() override;

 private:
  struct Source;
  void fill();

  std::string path_;
  Watch watch_;
  std::int64_t size_ = 0;  // of the file; 0: not known
  std::unique_ptr<Source> source_;
  std::vector<char> part_;
};

}  // namespace plait
