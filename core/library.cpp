#include "core/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace plait {

Library::Library(std::initializer_list<const char*> paths, const std::string& missing,
                 std::string name, std::string remedy)
    : name_(std::move(name)), remedy_(std::move(remedy)) {
  for (const char* path : paths) {
    handle_ = dlopen(path, RTLD_NOW);
    if (handle_ != nullptr) return;
  }
  throw EnvironmentError(fmt::format("{}: {}", missing, dlerror()));
}

void* Library::address(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr)
    throw EnvironmentError(fmt::format("this {} has no {}: {}", name_, symbol, remedy_));
  return found;
}

}  // namespace plait
