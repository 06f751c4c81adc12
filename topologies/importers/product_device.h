#pragma once
// Which device of the catalogue a file's product names stand for.

#include <string>
#include <vector>

#include "topologies/importers/node_facts.h"

namespace plait {

/// Devices that a product may be: one; none where the catalogue has none; several where the name is
/// cut off and the memory fits more than one.
std::vector<std::string> devices_of(const NodeFacts::Product& product);

/// `named` where that is not empty, with a note where the products are others; else the one device
/// that all products are; "" where the file has no product names. Throws InputError T015 products
/// of several kinds, T016 one that the catalogue does not have or that may be several.
std::string wanted_device(const NodeFacts& facts, const std::string& named,
                          std::vector<std::string>& notes);

}  // namespace plait
