#pragma once
// What a file is that was given as a scenario and is none: people have a config.json, a launch
// script, a ds_config.json or what nvidia-smi printed, and the message says where it belongs.

#include <string>

namespace plait {

enum class FileFormat { kUnknown, kScenario, kDeepSpeed, kPeft, kAccelerate, kOther };
/// What stands in `text`; where that is known, as a message says it ("a Hugging Face config.json"),
/// and the way to use it, for the file called `file`.
struct FileKind {
  FileFormat format = FileFormat::kUnknown;
  std::string what = {}, cure = {};
};
FileKind file_kind(const std::string& text, const std::string& file);

/// Throws InputError F006 where the text is known to be something else than a scenario. For texts
/// that do not parse, or that have no key of a scenario.
void refuse_other_files(const std::string& text, const std::string& file);

}  // namespace plait
