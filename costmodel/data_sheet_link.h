#pragma once
// The link of a catalogue's machine that bounds the bus bandwidth which nccl-tests measured on it.

#include <cstdint>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "topologies/importers/nccl_tests.h"

namespace plait {

struct DataSheetLink {
  enum class Kind : std::uint8_t { kNic, kNvlink, kPcie };
  Kind kind = Kind::kNic;
  std::string cluster;       // of the catalogue, "hgx-h100"
  std::int64_t nics = 1;     // kNic: of a host, that its ranks use
  double crossing = 0;       // kNic, where a rank uses its own NIC: the share of its data that does
  BytesPerSecond bandwidth;  // that bus bandwidth has at most
  /// Of one such link, with which the model takes as long as was measured; nothing where none does.
  std::optional<BytesPerSecond> as_measured;
};

/// `device`: of the catalogue; "": by the name that the run has. Nothing where that is in no
/// catalogue. Throws InputError C002 for a device that is not.
std::optional<DataSheetLink> data_sheet_link(const CollectiveTimings& run,
                                             const std::string& device);

}  // namespace plait
