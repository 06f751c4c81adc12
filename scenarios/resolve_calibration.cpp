#include <filesystem>

#include "core/file.h"
#include "core/sha256.h"
#include "scenarios/resolve.h"

namespace plait {

CalibrationFile resolve_calibration(const std::string& path, const std::string& scenario_file) {
  if (path.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(scenario_file).parent_path();
  const std::string file = (folder / path).string();
  try {
    return {file, sha256(read_text_file(file))};
  } catch (const InputError& e) {  // point at the line that names the file
    throw InputError(
        {.code = e.text().code,
         .problem = e.text().problem,
         .where = {"", 0, 0, "calibration"},
         .expected = "a file of plait calibrate, by its path relative to the scenario file",
         .cure = "correct the path, or remove it to predict from data sheets"});
  }
}

}  // namespace plait
