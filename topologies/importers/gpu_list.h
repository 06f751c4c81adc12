#pragma once
// The lists of GPUs that nvidia-smi prints, whichever of them a text holds:
//
//   nvidia-smi                              the table: product name, power limit, memory, MIG mode
//   nvidia-smi -q                           the log: these, and the PCIe link
//   nvidia-smi --query-gpu=... --format=csv whichever of these were asked for
//   nvidia-smi -L                           product names, and MIG devices below their GPU
//
// A list says which devices a node has, not how they are joined: links, NICs and sockets stay those
// of the catalogue's node with this device. What differs from one GPU to another counts as its
// lowest, since all wait for the slowest.

#include <string>
#include <string_view>

#include "topologies/importers/lines.h"
#include "topologies/importers/node_facts.h"

namespace plait {

/// Whether the text looks like one of the lists.
bool lists_gpus(std::string_view text);

/// Adds what the list says to `facts`: product names, limits, the PCIe link, notes; and its devices
/// where `facts` has none yet. False: the text has no list. Throws InputError with file and line:
/// T013 a list of no GPU, T014 a number or a row that is malformed, T017 values whose columns
/// cannot be told.
bool read_gpu_list(const std::vector<TextLine>& lines, const std::string& file, NodeFacts& facts);

}  // namespace plait
