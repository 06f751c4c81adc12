#pragma once
// The matrix that `nvidia-smi topo -m` prints:
//
//           GPU0    GPU1    mlx5_0  CPU Affinity    NUMA Affinity
//   GPU0     X      NV12    PXB     48-63,176-191   3
//   GPU1    NV12     X      PXB     48-63,176-191   3
//   mlx5_0  PXB     PXB      X
//
// NV# is a bonded set of # NVLinks, PIX and PXB stay below one root port, PHB crosses a host
// bridge, NODE several of one NUMA node, SYS several NUMA nodes. Colours, tabs or spaces, affinity
// columns or none, text around it, devices that are missing from it: all read alike. Devices with
// PIX or PXB between them, or to the same NIC, are on one PCIe switch.
//
// The same text may hold a list of the GPUs (topologies/importers/gpu_list.h), beside a matrix or
// instead of it: people paste both.

#include <string>
#include <string_view>

#include "topologies/importers/node_facts.h"

namespace plait {

/// Throws InputError with file and line: T003 neither matrix nor list, T004 a row is missing or
/// short, T005 an unknown label, T006 the two halves of the matrix differ; for a list T013, T014
/// and T017.
NodeFacts read_nvidia_smi(std::string_view text, const std::string& file);

}  // namespace plait
