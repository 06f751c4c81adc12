#include "topologies/importers/product_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "topologies/reported_names.h"

namespace plait {
namespace {

/// What the driver says is up to 2.2 % more than what programs can use; products of one name have
/// at least a quarter more or less.
bool has_memory(const std::string& device, Bytes all) {
  const double usable = static_cast<double>(find_device(device).memory.value);
  return all.value == 0 || std::abs(static_cast<double>(all.value) / usable - 1) < 0.05;
}

std::string counts_of(const NodeFacts& facts) {
  std::vector<std::string> texts;
  for (const NodeFacts::Product& p : facts.products) {
    texts.push_back(fmt::format("{} {}", p.count, p.name));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

[[noreturn]] void refuse_kinds(const NodeFacts& facts) {
  throw InputError(
      {.code = "T015",
       .problem = fmt::format("GPUs of several kinds: {}", counts_of(facts)),
       .where = facts.products[1].where,
       .expected = "one kind: the devices of a node are alike",
       .cure = "leave out the lines of the others, or take all for one with --device"});
}

[[noreturn]] void refuse_product(const NodeFacts::Product& product,
                                 const std::vector<std::string>& may_be) {
  const bool unknown = may_be.empty();
  throw InputError(
      {.code = "T016",
       .problem = unknown ? fmt::format("\"{}\" is no device of the catalogue", product.name)
                          : fmt::format("\"{}\" may be {}", product.name, fmt::join(may_be, ", ")),
       .where = product.where,
       .expected = unknown
                       ? "a name that drivers report for one of the devices (plait list devices)"
                       : "a whole name, as nvidia-smi -L prints it",
       .cure = unknown ? "name the nearest with --device, and set cluster.device as it is"
                       : "name it with --device"});
}

}  // namespace

std::vector<std::string> devices_of(const NodeFacts::Product& product) {
  std::vector<std::string> out = devices_reported_like(product.name);
  if (out.size() > 1) {
    std::erase_if(out, [&](const std::string& d) { return !has_memory(d, product.memory); });
  }
  return out;
}

std::string wanted_device(const NodeFacts& facts, const std::string& named,
                          std::vector<std::string>& notes) {
  std::set<std::string> devices;
  const NodeFacts::Product* unclear = nullptr;
  for (const NodeFacts::Product& p : facts.products) {
    const std::vector<std::string> may_be = devices_of(p);
    devices.insert(may_be.begin(), may_be.end());
    if (may_be.size() != 1 && unclear == nullptr) unclear = &p;
  }
  if (!named.empty()) {
    const bool others = !facts.products.empty() && !devices.contains(named);
    if (others || facts.products.size() > 1) {
      notes.push_back(fmt::format("{} taken to be {}", counts_of(facts), named));
    }
    return named;
  }
  if (facts.products.empty()) return "";
  const bool several = facts.products.size() > 1 && (unclear != nullptr || devices.size() > 1);
  if (several) refuse_kinds(facts);
  if (unclear != nullptr) refuse_product(*unclear, devices_of(*unclear));
  return *devices.begin();
}

}  // namespace plait
