#include "realrun/plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"

namespace plait {
namespace {

std::filesystem::path path_of(const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::filesystem::path& folder : {here, here / ".." / "lib" / "plait", here / ".."}) {
    if (std::filesystem::exists(folder / file, ignored)) return folder / file;
  }
  return {};
}

}  // namespace

bool has_plugin(const std::string& file) { return !path_of(file).empty(); }

void* load_plugin(const std::string& file, const char* symbol, const std::string& name,
                  const std::string& missing) {
  const std::filesystem::path path = path_of(file);
  if (path.empty()) throw EnvironmentError(missing);
  // Open MPI's own plug-ins look for its symbols among the global ones.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw EnvironmentError("cannot load " + name + ": " + dlerror());
  void* found = dlsym(library, symbol);
  PLAIT_CHECK(found != nullptr, "a plug-in without what it is for");
  return found;
}

}  // namespace plait
