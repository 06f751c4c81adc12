#include "plan/mesh.h"

#include "core/error.h"

namespace plait {

std::string name_of(AxisSet axes) {
  std::string out;
  for (int i = 0; i < kAxes; ++i) {
    if (!axes.has(static_cast<Axis>(i))) continue;
    if (!out.empty()) out += '+';
    out += kAxisNames[static_cast<std::size_t>(i)];
  }
  return out;
}

std::int64_t Mesh::world_size() const {
  std::int64_t n = 1;
  for (std::int64_t s : size) n *= s;
  return n;
}

std::int64_t Mesh::size_of(AxisSet axes) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (axes.has(static_cast<Axis>(i))) n *= size[i];
  }
  return n;
}

AxisSet Mesh::present(AxisSet axes) const {
  AxisSet out;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 1) out = out | static_cast<Axis>(i);
  }
  return out & axes;
}

Mesh::Coordinates Mesh::coordinates(std::int64_t rank) const {
  PLAIT_CHECK(rank >= 0 && rank < world_size(),
              "rank " + std::to_string(rank) + " is not in the mesh");
  Coordinates at{};
  for (std::size_t i = size.size(); i-- > 0;) {
    at[i] = rank % size[i];
    rank /= size[i];
  }
  return at;
}

std::int64_t Mesh::rank(const Coordinates& at) const {
  std::int64_t r = 0;
  for (std::size_t i = 0; i < size.size(); ++i) r = r * size[i] + at[i];
  return r;
}

std::int64_t Mesh::stride(Axis axis) const {
  std::int64_t n = 1;
  for (std::size_t i = size.size(); i-- > static_cast<std::size_t>(axis) + 1;) n *= size[i];
  return n;
}

std::vector<std::int64_t> Mesh::group(std::int64_t rank, AxisSet axes) const {
  std::vector<std::int64_t> members = {rank};
  for (std::size_t i = size.size(); i-- > 0;) {
    const Axis axis = static_cast<Axis>(i);
    if (!axes.has(axis)) continue;
    const std::int64_t step = stride(axis);
    // Outer axes come last, so appending whole copies keeps the list ascending from the origin.
    const std::int64_t origin = rank / step % size[i];
    std::vector<std::int64_t> grown;
    grown.reserve(members.size() * static_cast<std::size_t>(size[i]));
    for (std::int64_t k = 0; k < size[i]; ++k) {
      for (std::int64_t m : members) grown.push_back(m + (k - origin) * step);
    }
    members = std::move(grown);
  }
  return members;
}

std::int64_t Mesh::neighbour(std::int64_t rank, Axis axis, std::int64_t offset) const {
  Coordinates at = coordinates(rank);
  const std::size_t i = static_cast<std::size_t>(axis);
  at[i] = ((at[i] + offset) % size[i] + size[i]) % size[i];
  return this->rank(at);
}

}  // namespace plait
