#pragma once
// Libraries of the system that a program loads itself, when it first needs them, so that it runs
// where they are not installed.

#include <initializer_list>
#include <string>

namespace plait {

class Library {
 public:
  /// Loads the first of `paths` that there is, for as long as the process lives. Throws
  /// EnvironmentError: `missing` and what the loader says. `name` and `remedy` are for find().
  Library(std::initializer_list<const char*> paths, const std::string& missing, std::string name,
          std::string remedy);

  /// Throws EnvironmentError "this NAME has no SYMBOL: REMEDY".
  template <class F>
  void find(const char* symbol, F& function) const {
    function = reinterpret_cast<F>(address(symbol));
  }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, remedy_;
};

}  // namespace plait
