#include "topologies/importers/detect.h"

#include "core/error.h"
#include "topologies/importers/gpu_list.h"

namespace plait {

std::string_view name_of(ImportFormat format) {
  switch (format) {
    case ImportFormat::kNvidiaSmi: return "nvidia-smi";
    case ImportFormat::kNcclXml: return "nccl-xml";
    case ImportFormat::kNcclTests: return "nccl-tests";
  }
  return "?";
}

ImportFormat detect_format(std::string_view text, const std::string& file) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char begin = first == std::string_view::npos ? '\0' : text[first];
  if (begin == '<') return ImportFormat::kNcclXml;
  if (has("busbw") || has("nccl-tests") || (begin == '{' && has("\"bus_bw\""))) {
    return ImportFormat::kNcclTests;
  }
  if (has("GPU0") || has("CPU Affinity") || has("Legend:") || lists_gpus(text)) {
    return ImportFormat::kNvidiaSmi;
  }
  const bool empty = first == std::string_view::npos;
  throw InputError({.code = "T002",
                    .problem = empty ? "the file holds nothing"
                                     : "the content is of no format that can be imported",
                    .where = {file, 0, 0, ""},
                    .expected =
                        "nvidia-smi (topo -m or a list of GPUs), a topology of NCCL in XML, or "
                        "nccl-tests",
                    .cure = empty ? "name a file that is not empty"
                                  : "say which it is: --from nvidia-smi, nccl-xml or nccl-tests"});
}

}  // namespace plait
