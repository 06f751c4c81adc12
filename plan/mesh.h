#pragma once
// The mesh: world_size ranks in a grid of named axes, outermost first: pp, dp, fsdp, cp, ulysses,
// ep, tp, etp. `dp` replicates parameters, `fsdp` shards them; `cp` and `ulysses` share the tokens
// of each sequence (plan/strategies/context.cpp says how); `tp` and `etp` split layers. `etp` is 1
// but where experts are split over fewer ranks than the rest of a layer: over those along etp.
// rank = row-major index of its coordinates, so tp neighbours are adjacent ranks. Which device a
// rank runs on belongs to the scenario, not to the mesh.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

enum class Axis : std::uint8_t { kPp, kDp, kFsdp, kCp, kUlysses, kEp, kTp, kEtp };
inline constexpr int kAxes = 8;
inline constexpr std::array<std::string_view, kAxes> kAxisNames = {"pp",      "dp", "fsdp", "cp",
                                                                   "ulysses", "ep", "tp",   "etp"};
constexpr std::string_view name_of(Axis a) { return kAxisNames[static_cast<std::size_t>(a)]; }

/// A set of axes; the ranks that differ only in these axes form a group.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(Axis a) : bits_(bit(a)) {}  // implicit: one axis is a set
  constexpr AxisSet operator|(AxisSet o) const { return from_bits(bits_ | o.bits_); }
  constexpr AxisSet operator-(AxisSet o) const { return from_bits(bits_ & ~o.bits_); }
  constexpr AxisSet operator&(AxisSet o) const { return from_bits(bits_ & o.bits_); }
  constexpr bool has(Axis a) const { return (bits_ & bit(a)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const AxisSet&) const = default;
  constexpr std::uint8_t bits() const { return bits_; }

 private:
  static constexpr std::uint8_t bit(Axis a) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(a));
  }
  static constexpr AxisSet from_bits(int bits) {
    AxisSet s;
    s.bits_ = static_cast<std::uint8_t>(bits);
    return s;
  }
  std::uint8_t bits_ = 0;
};

/// The axes along which ranks hold different tokens of the same sequences.
inline constexpr AxisSet kContextAxes = AxisSet(Axis::kCp) | Axis::kUlysses;
/// The axes along which ranks hold different parts of a layer's matrices.
inline constexpr AxisSet kTensorAxes = AxisSet(Axis::kTp) | Axis::kEtp;

/// "dp+fsdp", axes outermost first.
std::string name_of(AxisSet axes);

/// Which stages take part where the axes include pp: all of them; the first and the last only (tied
/// embeddings); each and the one as far from the other end (two pipelines in opposite directions).
enum class Stages : std::uint8_t { kAll, kEnds, kMirrored };

/// Of `stages`, the first of those that take part together with `stage`; -1 where it takes no part.
constexpr std::int64_t first_of_meeting(Stages which, std::int64_t stage, std::int64_t stages) {
  const std::int64_t mirrored = stages - 1 - stage;
  if (which == Stages::kMirrored) return stage < mirrored ? stage : mirrored;
  return which == Stages::kAll || stage == 0 || mirrored == 0 ? 0 : -1;
}
/// How many take part together.
constexpr std::int64_t stages_in_meeting(Stages which, std::int64_t stages) {
  return which == Stages::kAll ? stages : 2;
}

struct Mesh {
  using Coordinates = std::array<std::int64_t, kAxes>;
  std::array<std::int64_t, kAxes> size = {1, 1, 1, 1, 1, 1, 1, 1};

  std::int64_t operator[](Axis a) const { return size[static_cast<std::size_t>(a)]; }
  std::int64_t& operator[](Axis a) { return size[static_cast<std::size_t>(a)]; }
  std::int64_t world_size() const;
  /// Ranks in a group over `axes`: the product of their sizes.
  std::int64_t size_of(AxisSet axes) const;
  /// Those of `axes` with more than one rank.
  AxisSet present(AxisSet axes) const;
  Coordinates coordinates(std::int64_t rank) const;
  std::int64_t rank(const Coordinates& at) const;
  /// Distance in rank between neighbours along `axis`.
  std::int64_t stride(Axis axis) const;
  /// The ranks that share all of rank's coordinates except those in `axes`, ascending.
  std::vector<std::int64_t> group(std::int64_t rank, AxisSet axes) const;
  /// The rank `offset` steps along `axis`, wrapping around.
  std::int64_t neighbour(std::int64_t rank, Axis axis, std::int64_t offset) const;
};

}  // namespace plait
