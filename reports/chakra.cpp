#include "reports/chakra.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace plait {
namespace {

// Of et_def.proto, mlcommons/chakra at commit 6dc63e1.
constexpr const char* kSchemaVersion = "0.0.4";
enum MetadataField { kVersion = 1, kMetadataAttributes = 2 };
enum NodeField { kId = 1, kName = 2, kType = 3, kDataDeps = 5, kDuration = 7, kAttributes = 10 };
enum AttributeField {
  kAttributeName = 1,
  kInt32 = 7,
  kInt64 = 9,
  kUint64 = 13,
  kBool = 27,
  kString = 29
};
enum NodeType { kLoad = 2, kStore = 3, kCompute = 4, kSend = 5, kRecv = 6, kCollective = 7 };

/// Protocol buffers on the wire (protobuf.dev, "Encoding"): a field is its number and wire type as
/// a varint, then a varint (wire type 0) or a length and bytes (2).
class Message {
 public:
  void number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    out_ += value;
  }
  void numbers(int field, const std::vector<std::uint64_t>& values) {
    if (values.empty()) return;
    Message packed;
    for (const std::uint64_t v : values) packed.varint(v);
    text(field, packed.out_);
  }
  /// An AttributeProto within the field: its name, and a value of one of its kinds.
  void attribute(int field, std::string_view name, AttributeField kind, std::uint64_t value) {
    Message m;
    m.text(kAttributeName, name);
    m.number(kind, value);
    text(field, m.out_);
  }
  void attribute(int field, std::string_view name, std::string_view value) {
    Message m;
    m.text(kAttributeName, name);
    m.text(kString, value);
    text(field, m.out_);
  }
  /// As it stands in the file: behind its length.
  std::string delimited() const {
    Message length;
    length.varint(out_.size());
    return length.out_ + out_;
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

std::uint64_t comm_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return 0;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kPull: return 2;
    case CollectiveKind::kBroadcast: return 5;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kShift:  // Chakra has no step of a ring; moves about as much
      return 6;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kPush: return 7;  // to some of the ranks; Chakra has all or one
  }
  return 0;
}

/// ASTRA-sim's size of a collective: what a rank puts in (astra-sim/system/collective, Ring.cc).
std::int64_t bytes_put_in(const Collective& c, std::int64_t ranks) {
  return c.kind == CollectiveKind::kAllGather ? c.bytes().value / ranks : c.bytes().value;
}

/// What ops of one rank wait for, by their flat numbers, in issue order.
class Waits {
 public:
  Waits(const Dependencies& deps, std::size_t stage)
      : deps_(deps), program_(deps.programs[stage]) {}

  /// Of op i of the call, whose first op has the number `first`.
  std::vector<std::uint64_t> of(std::size_t call, const Call& c, std::size_t i, const Op& op,
                                std::uint64_t first) {
    std::vector<std::uint64_t> out;
    const BlockDependencies& within = deps_.blocks[c.block];
    for (std::size_t k = within.first[i]; k < within.first[i + 1]; ++k) {
      out.push_back(first + within.before[k]);
    }
    for (std::size_t w = program_.wait_first[call]; w < program_.wait_first[call + 1]; ++w) {
      if (program_.waits[w].op == i) out.push_back(program_.waits[w].source);
    }
    std::optional<std::uint64_t>& last = last_[static_cast<std::size_t>(op.stream)];
    if (last) out.push_back(*last);
    const auto& compute = last_[static_cast<std::size_t>(Stream::kCompute)];
    if (behind_compute(op.stream) && compute) out.push_back(*compute);
    last = first + i;
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  const Dependencies& deps_;
  const ProgramDependencies& program_;
  std::array<std::optional<std::uint64_t>, kStreams> last_;  // op of each stream
};

}  // namespace

ChakraTraces::ChakraTraces(const Plan& plan, const Cluster& cluster,
                           const std::vector<std::int64_t>& placement, const CostModel& costs,
                           std::vector<std::pair<std::string, std::string>> about)
    : plan_(plan),
      cluster_(cluster),
      placement_(placement),
      costs_(costs),
      about_(std::move(about)),
      dependencies_(dependencies(plan)) {}

void ChakraTraces::write(std::int64_t rank, const std::function<void(std::string_view)>& write) {
  Message metadata;
  metadata.text(kVersion, kSchemaVersion);
  for (const auto& [name, value] : about_) {
    metadata.attribute(kMetadataAttributes, name, value);
  }
  write(metadata.delimited());
  const auto stage = static_cast<std::size_t>(rank / plan_.places_per_stage());
  const std::vector<Call>& calls = plan_.programs[stage].calls;
  Waits waits(dependencies_, stage);
  std::uint64_t first = 0;
  std::string part;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Op>& ops = plan_.blocks[calls[c].block].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      part += node(rank, calls[c], ops[i], first + i, dependencies_.programs[stage].message[c],
                   waits.of(c, calls[c], i, ops[i], first));
    }
    first += ops.size();
    write(part);
    part.clear();
  }
}

ChakraTraces::Work ChakraTraces::work_of(const Compute& c, const Op& op, std::int64_t rank) const {
  const std::int64_t at = placement_.empty() ? rank : placement_[static_cast<std::size_t>(rank)];
  Work out;
  for (const Operand& o : op.operands) out.bytes += plan_.tensors[o.tensor].bytes(plan_.mesh).value;
  if (!runs_on(plan_, op, role_of(plan_, rank))) return out;
  const Device& device = cluster_.kind(cluster_.kind_of(at)).device;
  out.us = std::llround(costs_.compute(c, device).total().value * 1e6);
  out.flops = std::llround(flops(c).value);
  return out;
}

std::string ChakraTraces::node(std::int64_t rank, const Call& call, const Op& op, std::uint64_t id,
                               std::uint32_t message, const std::vector<std::uint64_t>& after) {
  Message m;
  m.number(kId, id);
  m.text(kName, fmt::format("{}.{} layer {} microbatch {}", plan_.blocks[call.block].name,
                            name_of(op), call.layer, call.microbatch));
  const auto type = [&](NodeType t) { m.number(kType, t); };
  const auto say = [&](const char* name, AttributeField kind, std::int64_t value) {
    m.attribute(kAttributes, name, kind, static_cast<std::uint64_t>(value));
  };
  if (const auto* c = std::get_if<Compute>(&op.body)) {
    type(kCompute);
    const Work work = work_of(*c, op, rank);
    m.number(kDuration, static_cast<std::uint64_t>(work.us));
    say("num_ops", kInt64, work.flops);
    say("tensor_size", kUint64, work.bytes);
  } else if (const auto* g = std::get_if<Collective>(&op.body)) {
    type(kCollective);
    const std::vector<std::int64_t> ranks = members(plan_.mesh, rank, g->axes, g->stages);
    say("comm_type", kInt64, static_cast<std::int64_t>(comm_type(g->kind)));
    say("comm_size", kInt64, bytes_put_in(*g, static_cast<std::int64_t>(ranks.size())));
    m.attribute(kAttributes, "pg_name", fmt::format("{}", group(ranks)));
  } else if (const auto* s = std::get_if<Send>(&op.body)) {
    type(kSend);
    say("comm_src", kInt32, rank);
    say("comm_dst", kInt32, plan_.mesh.neighbour(rank, s->axis, s->offset));
    say("comm_size", kInt64, s->bytes.value);
    say("comm_tag", kInt32, message);
  } else if (const auto* r = std::get_if<Recv>(&op.body)) {
    type(kRecv);
    say("comm_src", kInt32, plan_.mesh.neighbour(rank, r->axis, r->offset));
    say("comm_dst", kInt32, rank);
    say("comm_size", kInt64, r->bytes.value);
    say("comm_tag", kInt32, message);
  } else if (const auto* copy = std::get_if<Copy>(&op.body)) {
    type(copy->to < copy->from ? kLoad : kStore);  // towards the device
    say("tensor_size", kUint64, copy->bytes.value);
  }
  m.attribute(kAttributes, "is_cpu_op", kBool, 0);
  m.numbers(kDataDeps, after);
  return m.delimited();
}

std::int64_t ChakraTraces::group(const std::vector<std::int64_t>& ranks) {
  // ASTRA-sim takes group 0 for all ranks.
  return groups_.try_emplace(ranks, static_cast<std::int64_t>(groups_.size()) + 1).first->second;
}

std::string ChakraTraces::groups() const {
  std::vector<std::string> lines(groups_.size());
  for (const auto& [ranks, number] : groups_) {
    lines[static_cast<std::size_t>(number - 1)] =
        fmt::format("  \"{}\": [{}]", number, fmt::join(ranks, ", "));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

}  // namespace plait
