#pragma once
// The two halves of data parallelism: gather.cpp brings sharded weights together before use,
// reduce.cpp sums gradients behind the backward pass.

#include <array>
#include <memory>

#include "plan/strategies/draft.h"

namespace plait {

/// Units whose gradients are complete behind call `call`.
struct Ready {
  std::size_t call;
  std::vector<UnitInstance> units;
};
/// One stage has both ends of the model, in pieces that a microbatch passes at two times, or one of
/// which it passes.
bool ends_pass_apart(const Draft& draft);
/// The last call that writes each unit's gradient: of the whole step, or of each microbatch, where
/// ends pass apart in each piece.
std::vector<Ready> completions(const Draft& draft, const Program& program, bool each_microbatch);
/// Of these, whether a piece of the stage has all of its gradients behind them.
std::vector<bool> ends_of_pieces(const Program& program, const std::vector<Ready>& ready);

/// Blocks that gather a unit for either pass, by UnitKind, and copy what has arrived.
struct GatherBlocks {
  std::array<BlockId, kUnitKinds> forward = {}, backward = {}, copy_out = {};
};
GatherBlocks add_gather_blocks(Draft& draft);
Call gather_call(const GatherBlocks& blocks, const UnitInstance& unit, bool forward = true);
/// zero_stage 3: the program with a gather before every use.
Program gather_before_use(const Draft& draft, const GatherBlocks& blocks, const Program& program);

/// What a unit's weights are kept and gathered in.
DType weight_type(const Draft& draft, const Unit& unit);

/// narrow_weights.cpp: the magnitudes by which a narrow unit's weights are scaled; ops that find
/// those of the rank's share, sum them up over the ranks that have the others, of each weight by
/// itself or of several units in one message, and make weights of the master.
void add_magnitudes(Draft& draft, Unit& unit);
Op find_magnitudes(const Unit& unit, Stream stream, Phase phase);
void meet_one_by_one(const Draft& draft, Block& block, const Unit& unit);
Op cast_master(const Draft& draft, const Unit& unit, Operand into, Stream stream, Phase phase);
/// Magnitudes are found at the end of a step, for all gathers of the next one.
bool scales_early(const Draft& draft);

/// fsdp_copies.cpp: the buffers of a unit that strategy.fsdp.copies asks for, which are of its flat
/// buffers' scope and size. To what has arrived in one belong ops on the stream of the gathers, and
/// ops on the compute stream, before the unit is used; to gradients that are to be reduced, ops
/// behind the backward pass.
void add_copy_buffers(Draft& draft, Unit& unit);
void copy_arrived(const Draft& draft, Block& gather, const Unit& unit);
Block copy_out_block(const Draft& draft, const Unit& unit);
bool copies_out(const Draft& draft, const Unit& unit);
void copy_gradients(const Draft& draft, Block& scatter, const Unit& unit);
/// What gradients of sharded weights add up in, whole, before they are reduced (NoSync).
DType type_of_whole_sums(FsdpCopies copies, int zero_stage, const Precision& precision);

/// quantized.cpp: an all_gather, or a reduce_scatter, of numbers of fewer bits.
void gather_quantized(Draft& draft, Block& block, AxisSet axes, TensorId shard, TensorId buffer);
void reduce_quantized(Draft& draft, Block& block, AxisSet axes, TensorId buffer, TensorId shard);

/// Gradients of norms over shards of a sequence are partial sums over tp: the unit's are summed.
void sum_over_tp(const Draft& draft, Block& block, const Unit& unit);

/// Puts the reduction of gradients into programs; blocks are shared between stages.
class GradientReduction {
 public:
  explicit GradientReduction(Draft& draft);
  ~GradientReduction();
  /// zero_stage 0 and 1: once a step, in buckets.
  Program in_buckets(const Program& program);
  /// The same at the end of the step, over the two stages that hold each unit too.
  Program over_copies(const Program& program);
  /// zero_stage 2 and 3: every unit of every microbatch, or once without synchronization.
  Program into_shards(const Program& program);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace plait
