#pragma once
// The topology that NCCL writes with NCCL_TOPO_DUMP_FILE and reads with NCCL_TOPO_FILE:
//
//   <system version="1">
//     <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" ...>
//       <pci busid class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16" ...>  a PCIe switch
//         <pci busid class="0x030200" ...> <gpu dev="0" sm="90" rank gdr>
//             <nvlink target="<busid>" count="4" tclass="0x068000"/> </gpu> </pci>
//         <pci busid class="0x020700" ...> <nic> <net name dev speed="400000" .../> </nic> </pci>
//
// tclass 0x068000 is an NVSwitch, 0x0302.. a GPU; `speed` is in Mbit/s. PCIe switches behind one
// another count as the outermost one, as NCCL flattens them itself.

#include <string>
#include <string_view>

#include "topologies/importers/node_facts.h"

namespace plait {

/// Throws InputError with file and line: T007 not XML, T008 XML of something else or of several
/// hosts, T009 an attribute that is missing or malformed.
NodeFacts read_nccl_xml(std::string_view text, const std::string& file);

/// One direction of a PCIe link from NCCL's attributes: "16.0 GT/s PCIe", 16 lanes -> 31.5 GB/s.
/// Zero: not understood.
BytesPerSecond pcie_bandwidth_of(const std::string& link_speed, int lanes);

}  // namespace plait
