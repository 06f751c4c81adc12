#pragma once
// Rates of networks as sources spell them, in one spelling.

#include <string>

namespace plait {

/// "400 Gb/s" for "400Gbps", "400 Gbit/s", "400G", "NDR400"; "100 Gb/s Ethernet" for "100GbE",
/// "100 Gigabit Ethernet"; "3200 Gb/s" for "3.2 Tbit/s"; "50 GB/s" for "50GBps". A small b is a
/// bit, a large one a byte. What is said of a node's own links (NVLink, PCIe) and of a board's
/// memory is left out. Throws NotRepresentable for a number out of all proportion.
std::string in_gigabits(std::string words);

/// Whether a number of such words is none of a name ("ConnectX-7", "PCIe 4.0", "2 x A100") and of
/// no count of GPUs or nodes.
bool has_other_number(std::string words);

}  // namespace plait
