// State off the device: where it lives, in bytes per parameter, and what is copied, against the
// formulas of ZeRO-Offload (Ren et al. 2021, section 4) and of offload_*.cpp.
#include <algorithm>
#include <map>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::offload_test {

constexpr std::int64_t n = 4;  // ranks
constexpr std::int64_t kMicrobatches = 3;
const std::int64_t kParameters = count_parameters(tiny_llama()).total(tiny_llama());

Plan plan_of(OffloadOptions offload, int zero_stage, bool weight_shard = false,
             Precision precision = {}, bool clips = false) {
  Strategy s = split({.dp = n}, zero_stage);
  s.keep_weight_shard = weight_shard;
  s.offload = offload;
  Workload w = tiny_workload(n * kMicrobatches);
  w.precision = precision, w.gradient_clipping = clips;
  return make_plan(tiny_llama(), w, s);
}
constexpr OffloadOptions kAdam{.optimizer = Offload::kCpu};
constexpr OffloadOptions kState{.optimizer = Offload::kCpu, .parameters = Offload::kCpu};
constexpr OffloadOptions kDrives{.optimizer = Offload::kNvme, .parameters = Offload::kNvme};

/// Bytes of weights, gradients and optimizer state that stay in a place for the whole step.
std::int64_t persistent(const Plan& plan, Place place) {
  std::int64_t sum = 0;
  for (const Tensor& t : plan.tensors) {
    const bool state = t.kind == TensorClass::kWeight || t.kind == TensorClass::kGradient ||
                       t.kind == TensorClass::kOptimizer;
    if (!t.persistent || t.is_view() || t.place != place || !state) continue;
    sum += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return sum;
}
/// Bytes copied from one place to another on one rank, but for the norm's 4 bytes.
std::int64_t copied(const Plan& plan, Place from, Place to) {
  std::int64_t sum = 0;
  for_each_op(plan, 0, [&](const Call& call, const Op& op) {
    const Copy* c = std::get_if<Copy>(&op.body);
    if (c == nullptr || c->from != from || c->to != to) return;
    if (plan.blocks[call.block].name != "offload.norm") sum += c->bytes.value;
  });
  return sum;
}
std::int64_t down(const Plan& plan) { return copied(plan, Place::kDevice, Place::kHost); }
std::int64_t up(const Plan& plan) { return copied(plan, Place::kHost, Place::kDevice); }

/// Bytes that come to the device in place of gathers; nothing meets anybody.
std::int64_t fetched(const Plan& plan) {
  std::int64_t out = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    EXPECT_FALSE(std::holds_alternative<Collective>(op.body));
    const bool fetches = std::holds_alternative<Copy>(op.body) && op.phase == Phase::kParamGather;
    if (fetches) out += std::get<Copy>(op.body).bytes.value;
  });
  return out;
}

// One rank has all shards: in each microbatch a copy up of the 4 bytes of its masters, or of 2 of
// the shard beside them, for each pass over a layer and once for embedding and head.
TEST(ZeroInfinity, OneRankFetchesWhatOthersWouldGather) {
  const Model m = tiny_llama();
  const std::int64_t layers = m.layers * count_parameters(m).layer, ends = kParameters - layers;
  for (const bool shard : {false, true}) {
    Strategy s = split({}, 3);
    s.offload = kState, s.keep_weight_shard = shard;
    const Plan plan = make_plan(m, tiny_workload(kMicrobatches), s);
    EXPECT_TRUE(validate(plan).empty());
    EXPECT_EQ(persistent(plan, Place::kDevice), 0);
    EXPECT_EQ(persistent(plan, Place::kHost), (shard ? 18 : 16) * kParameters);
    EXPECT_EQ(down(plan), kMicrobatches * 4 * kParameters);
    EXPECT_EQ(fetched(plan), kMicrobatches * (shard ? 2 : 4) * (2 * layers + ends));
  }
}

// Weights 2 and gradients 2 on the device, master and moments 12 on the host, which also holds the
// gradients: 16 M without offload become 2 M here and 14 M / n there (Ren et al. 2021, section
// 4.2.1).
TEST(ZeroOffload, KeepsTwoBytesHereAndAShareOfFourteenThere) {
  const Plan plan = plan_of(kAdam, 2, false, {.gradients = DType::kBf16});
  EXPECT_EQ(persistent(plan, Place::kDevice), 2 * kParameters);
  EXPECT_EQ(persistent(plan, Place::kHost), 14 * kParameters / n);
}

TEST(ZeroOffload, WithoutShardsGradientsStayToo) {
  const Plan plan = plan_of(kAdam, 0);
  EXPECT_EQ(persistent(plan, Place::kDevice), 6 * kParameters);
  EXPECT_EQ(persistent(plan, Place::kHost), 16 * kParameters);
}

TEST(ZeroOffload, SendsGradientsDownAndWeightsUpOnceAStep) {
  for (const int stage : {0, 1}) {
    const std::int64_t share = kParameters / (stage == 0 ? 1 : n);
    const Plan plan = plan_of(kAdam, stage);
    EXPECT_EQ(down(plan), 4 * share) << stage;
    EXPECT_EQ(up(plan), 2 * share) << stage;
  }
}

/// Calls of the step that copy a layer's whole gradients away, and those behind the last backward
/// pass of a layer.
std::pair<int, int> layers_that_leave(const Plan& plan) {
  int all = 0, behind = 0;
  bool passes = true;
  const std::vector<Call>& calls = plan.programs[0].calls;
  for (const Call& call : calls) {
    const Block& block = plan.blocks[call.block];
    passes = passes && block.name != "embedding.backward";
    const TensorId from = block.ops.back().operands[0].tensor;
    if (block.name != "offload.gradients" || plan.tensors[from].name != "layer.gradients") continue;
    ++all, behind += passes ? 0 : 1;
  }
  return {all, behind};
}

// Partial sums of norms over tp are no reason for the rest to wait for the end of the step; nor are
// buckets, of a layer each.
TEST(ZeroOffload, GradientsLeaveBesideTheBackwardPassUnderSequenceParallelism) {
  for (const int stage : {0, 1}) {
    Strategy s = split({.dp = 2, .tp = 2}, stage);
    s.offload = kAdam, s.sequence_parallel = true, s.data.bucket = Bytes(1);
    const Plan plan = make_plan(tiny_llama(), tiny_workload(2), s);
    EXPECT_TRUE(validate(plan).empty()) << stage;
    const auto layers = static_cast<int>(tiny_llama().layers);
    EXPECT_EQ(layers_that_leave(plan), std::pair(layers, 0)) << stage;
  }
}

// Gradients of m microbatches: m times down, m - 1 times up to be added to.
TEST(ZeroOffload, AddsShardsUpOnTheDevice) {
  const Plan plan = plan_of(kAdam, 2);
  EXPECT_EQ(down(plan), 4 * kMicrobatches * kParameters / n);
  EXPECT_EQ(up(plan), (4 * (kMicrobatches - 1) + 2) * kParameters / n);
}

TEST(ZeroOffload, ClipsByANormThatItCopiesOnce) {
  const Plan plan = plan_of(kAdam, 2, false, {}, true);
  std::int64_t norms = 0, squares = 0;
  for_each_op(plan, 0, [&](const Call& call, const Op& op) {
    norms += plan.blocks[call.block].name == "offload.norm" ? 1 : 0;
    const Compute* c = std::get_if<Compute>(&op.body);
    const SquaredNorm* s = c != nullptr ? std::get_if<SquaredNorm>(c) : nullptr;
    if (s != nullptr) squares += s->elements;
  });
  EXPECT_EQ(norms, 1);
  EXPECT_EQ(squares, kParameters / n);
}

TEST(ZeroOffload, RunsAdamOnTheHostBehindTheLastPass) {
  for (const int stage : {0, 1, 2}) {
    const Plan plan = plan_of(kAdam, stage);
    std::size_t i = 0, last_pass = 0, adams = 0;
    for (const Call& call : plan.programs[0].calls) {
      const Block& block = plan.blocks[call.block];
      if (block.ops[0].stream == Stream::kCompute) last_pass = i;
      if (block.name == "optimizer") {
        ++adams;
        EXPECT_EQ(block.ops[0].stream, Stream::kHost);
        for (const Operand& o : block.ops[0].operands) {
          EXPECT_EQ(plan.tensors[o.tensor].place, Place::kHost);
        }
        EXPECT_EQ(call.after, static_cast<std::int32_t>(last_pass));
      }
      ++i;
    }
    EXPECT_EQ(adams, 4U) << "embedding, two layers, head";
  }
}

// FSDP: every gather is of the fp32 master shard, cast on the device; once for the forward and once
// for the backward pass of a microbatch, but the last unit's weights stay.
TEST(FsdpOffload, CopiesTheMasterShardForEveryGather) {
  const Plan plan = plan_of(kState, 3);
  EXPECT_EQ(persistent(plan, Place::kDevice), 0);
  EXPECT_EQ(persistent(plan, Place::kHost), 16 * kParameters / n);
  std::int64_t gathered = 0;  // bytes of bf16 in whole units
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c != nullptr && c->kind == CollectiveKind::kAllGather) gathered += c->bytes().value;
  });
  const std::int64_t gradients = 4 * (kMicrobatches - 1) * kParameters / n;
  EXPECT_EQ(up(plan), gathered * 2 / n + gradients);
}

// ZeRO-Infinity: master and moments (12 bytes per parameter) are read and written once a step, the
// weights (2) read for every gather and written once.
TEST(ZeroInfinity, ReadsAndWritesStateOnce) {
  const Plan plan = plan_of(kDrives, 3, true);
  EXPECT_EQ(persistent(plan, Place::kDevice), 0);
  EXPECT_EQ(persistent(plan, Place::kStorage), 14 * kParameters / n);
  EXPECT_EQ(copied(plan, Place::kHost, Place::kStorage), 14 * kParameters / n);
  std::int64_t gathered = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c != nullptr && c->kind == CollectiveKind::kAllGather) gathered += c->bytes().value;
  });
  EXPECT_EQ(copied(plan, Place::kStorage, Place::kHost), 12 * kParameters / n + gathered / n);
}

// Of three units of optimizer state at a time are in host memory: one that is read, one that Adam
// works on, one that is written.
TEST(ZeroInfinity, HoldsThreeUnitsInMemory) {
  Strategy s = split({.dp = n}, 2);
  s.offload = {.optimizer = Offload::kNvme};
  const Plan plan = make_plan(tiny_llama(8), tiny_workload(n), s);
  std::int64_t layer = 0, gradients = 0;
  for (const Tensor& t : plan.tensors) {
    if (t.name == "layer.moment1") layer = t.elements(plan.mesh);
    if (t.name.ends_with(".host") && t.kind == TensorClass::kGradient) {
      gradients += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? plan.layers : 1);
    }
  }
  const std::int64_t peak = live_memory(plan, 0, false, Place::kHost).peak.value;
  EXPECT_LE(peak, gradients + 3 * (12 + 2) * layer);
  EXPECT_GE(peak, gradients + 2 * 12 * layer);
}

Plan with_activations(std::int64_t layers, std::int64_t offloaded) {
  Strategy s;
  s.offload.activations = Offload::kCpu, s.offload.activation_layers = offloaded;
  return make_plan(tiny_llama(layers), tiny_workload(2), s);
}
/// Bytes that the plan without offload keeps of a layer's forward pass for its backward pass.
std::int64_t kept_of_a_layer() {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(2), Strategy{});
  std::int64_t sum = 0;
  for (const Tensor& t : plan.tensors) {
    const bool kept =
        t.scope == Scope::kLayerMicrobatch && t.kind == TensorClass::kActivation && t.name != "dx";
    sum += kept ? t.bytes(plan.mesh).value : 0;
  }
  return sum;
}

TEST(ActivationOffload, CopiesWhatTheBackwardPassReadsDownAndUp) {
  for (const std::int64_t layers : {1, 3, 5}) {
    const Plan plan = with_activations(6, layers);
    EXPECT_EQ(down(plan), 2 * layers * kept_of_a_layer()) << "of two microbatches";
    EXPECT_EQ(up(plan), down(plan));
  }
}

TEST(ActivationOffload, LeavesTheLastLayerByDefault) {
  EXPECT_EQ(down(with_activations(6, -1)), down(with_activations(6, 5)));
}

// In memory are a layer at work, the one before, still on its way, and the one behind, fetched
// already: whatever the depth.
TEST(ActivationOffload, DeviceMemoryDoesNotGrowWithLayers) {
  const auto activations = [](const Plan& plan) {
    return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kActivation)].value;
  };
  EXPECT_EQ(activations(with_activations(12, -1)), activations(with_activations(6, -1)));
  const Plan kept = make_plan(tiny_llama(12), tiny_workload(2), Strategy{});
  EXPECT_LT(activations(with_activations(12, -1)), activations(kept) / 3);
}

TEST(ActivationOffload, HostHoldsThemAll) {
  const Plan plan = with_activations(6, -1);
  EXPECT_EQ(live_memory(plan, 0, false, Place::kHost).peak.value, 5 * kept_of_a_layer());
}

// Mixers with states, gated delta nets, attention and MLPs by themselves, and each with an MLP.
TEST(ActivationOffload, CopiesThatOfLayersOfEveryKind) {
  for (const char* pattern : {"MMMM", "GGGG", "M*-M", "mmmm", "gaga"}) {
    Model m = tiny_llama(4);
    m.layer_pattern = pattern;
    m.state_size = 4, m.state_heads = 4, m.state_head_dim = 4, m.state_groups = 2;
    m.conv_width = 4, m.scan_chunk = 4;
    Strategy s;
    s.offload.activations = Offload::kCpu, s.offload.activation_layers = 4;
    const Plan plan = make_plan(m, tiny_workload(2), s);
    std::int64_t copies = 0;
    for (const Call& call : plan.programs.at(0).calls)
      copies += plan.blocks[call.block].name == "offload.activations" ? 1 : 0;
    EXPECT_EQ(copies, 4 * 2) << pattern << ": of each layer and microbatch";
    EXPECT_EQ(up(plan), down(plan)) << pattern;
    EXPECT_TRUE(validate(plan).empty()) << pattern;
  }
}

TEST(Offload, MakesSoundPlans) {
  for (const bool clips : {false, true}) {
    for (const auto& [options, stage] : std::vector<std::pair<OffloadOptions, int>>{
             {kAdam, 0}, {kAdam, 1}, {kAdam, 2}, {kState, 3}, {kDrives, 3}}) {
      OffloadOptions o = options;
      o.activations = Offload::kCpu;
      const auto faults =
          validate(plan_of(o, stage, options.parameters == Offload::kNvme, {}, clips));
      EXPECT_TRUE(faults.empty()) << stage << ": " << faults.front().text;
    }
  }
}

TEST(Offload, ChangesNothingWhereItIsNotAskedFor) {
  for (const Tensor& t : plan_of({}, 3).tensors) EXPECT_EQ(t.place, Place::kDevice) << t.name;
}

std::string refused(OffloadOptions o, int stage, bool weight_shard = false,
                    bool secondary = false) {
  Strategy s = split(secondary ? Degrees{.dp = 2, .fsdp = 2} : Degrees{.dp = n}, stage);
  s.offload = o, s.keep_weight_shard = weight_shard;
  s.zero_plus_plus.secondary_shard = secondary;
  try {
    make_plan(tiny_llama(), tiny_workload(n), s);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "planned";
}

InputError::Text refusal_of_shards(Offload optimizer, Offload parameters) {
  Strategy s = split({.dp = n}, 3);
  s.offload.optimizer = optimizer, s.offload.parameters = parameters;
  try {
    make_plan(tiny_llama(), tiny_workload(n), s);
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << "planned";
  return {};
}

TEST(Offload, SaysWhyAMasterIsNotGatheredAndHowItCanBe) {
  const InputError::Text apart = refusal_of_shards(Offload::kCpu, Offload::kNone);
  EXPECT_NE(apart.problem.find("another place"), std::string::npos) << apart.problem;
  EXPECT_EQ(apart.cure,
            "set strategy.offload.parameters to \"cpu\", or strategy.keep_weight_shard to true");
  const InputError::Text drives = refusal_of_shards(Offload::kNvme, Offload::kNvme);
  EXPECT_NE(drives.problem.find("a master on drives"), std::string::npos) << drives.problem;
  for (const InputError::Text& text : {drives, refusal_of_shards(Offload::kNvme, Offload::kCpu)}) {
    EXPECT_EQ(text.cure,
              "set strategy.offload.optimizer and parameters to \"cpu\", or "
              "strategy.keep_weight_shard to true");
  }
}

TEST(Offload, RefusesWhatIsNotPlanned) {
  EXPECT_EQ(refused({.parameters = Offload::kCpu}, 3), "S100");
  EXPECT_EQ(refused(kState, 2), "S100");
  EXPECT_EQ(refused(kAdam, 3), "S101");
  EXPECT_EQ(refused(kDrives, 3), "S101");
  EXPECT_EQ(refused(kAdam, 3, true), "planned");
  EXPECT_EQ(refused(kState, 3, false, true), "S102");
  EXPECT_EQ(refused({.activations = Offload::kNvme}, 0), "S103");
  EXPECT_EQ(refused({.activation_layers = 1}, 0), "S104");
}

}  // namespace plait::offload_test
