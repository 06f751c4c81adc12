#pragma once
// Which device of the catalogue a file is about, and what its NVLinks lead to.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/importers/node_facts.h"

namespace plait {

/// What peer-to-peer traffic achieves between the sockets of a server whose CPU is not known: NCCL
/// src/graph/topo.h, Skylake (10 GB/s), the slower of the x86 servers in use.
inline constexpr BytesPerSecond kSocketBandwidth{10e9};

struct NvlinkReading {
  enum class Kind : std::uint8_t { kNone, kMesh, kSwitch };
  Kind kind = Kind::kNone;
  Device device;  // nvlink_links as the file has them
};

/// With P pairs of n devices, all joined by k links each, and NVSwitches not told apart from direct
/// links: a switch when some device on NVSwitches has k NVLinks in all, a mesh when one has
/// k (n - 1).
/// The device is `wanted` when that is not empty, else the oldest of the catalogue with that many
/// NVLinks and that compute capability. Throws InputError T011 when there is none.
NvlinkReading read_nvlinks(const NodeFacts& facts, const std::string& wanted,
                           std::vector<std::string>& notes);

/// The device `wanted` of a list without links. Throws InputError T011 where that is empty.
Device listed_device(const NodeFacts& facts, const std::string& wanted);

/// The catalogue's node that has this device and, of several, as many as `devices`; or else the one
/// that boards like it are usually in. A card without a node of its own: one of cards on bridges
/// where `kind` is a mesh and there is one, one of cards without them. `kind` is what a file shows;
/// nothing for a list.
std::string usual_node(const Device& device, std::int64_t devices,
                       std::optional<NvlinkReading::Kind> kind = {});

}  // namespace plait
