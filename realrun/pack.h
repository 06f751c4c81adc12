#pragma once
// Values as bytes, for results that travel between the ranks of one run (same program, same
// machine type).

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"

namespace plait {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { append(&value, sizeof(T)); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(values.size());
    append(values.data(), values.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put(text.size());
    append(text.data(), text.size());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* from, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(bytes_.data() + at, from, size);
  }
  std::vector<std::byte> bytes_;
};

/// Takes in the order of `put`.
class Unpacker {
 public:
  explicit Unpacker(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void take(T& value) { extract(&value, sizeof(T)); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void take(std::vector<T>& values) {
    std::size_t size = 0;
    take(size);
    values.resize(size);
    extract(values.data(), size * sizeof(T));
  }
  void take(std::string& text) {
    std::size_t size = 0;
    take(size);
    text.resize(size);
    extract(text.data(), size);
  }

 private:
  void extract(void* to, std::size_t size) {
    PLAIT_CHECK(size <= bytes_.size() - at_, "packed values end early");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

}  // namespace plait
