#pragma once
// Which importer a text is for.

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

enum class ImportFormat : std::uint8_t { kNvidiaSmi, kNcclXml, kNcclTests };
std::string_view name_of(ImportFormat format);

/// By its content. Throws InputError T002 when it looks like none of them.
ImportFormat detect_format(std::string_view text, const std::string& file);

}  // namespace plait
