// Every arrangement of every collective gives its result over every transport. One that needs a
// switch that adds has none here.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "realrun/launch/mpirun.h"
#include "realrun/rounds_run.h"
#include "realrun/transport/plugin.h"
#include "tests/plan/collectives_group.h"
#include "tests/realrun/worlds.h"

namespace plait::rounds_test {

bool has_switch(const ArrangementCase& c) {
  const Arrangement& a = c.arrangement;
  return a.pattern == Pattern::kNvls ||
         (a.pattern == Pattern::kHierarchical && a.within == Pattern::kNvls);
}

/// What a rank has after a collective of its own making, without the own share of an all_to_all.
Elements executed(const ArrangementCase& c, Transport& transport, const Elements& input,
                  std::uint64_t tag) {
  const auto elements = static_cast<std::int64_t>(input.size());
  RoundsCall call{
      .rounds = rounds_of(c.arrangement, c.kind, transport.ranks(), transport.rank(), elements),
      .group = {},
      .tag = tag};
  for (std::int64_t r = 0; r < transport.ranks(); ++r) call.group.push_back(r);
  RoundsRun<float> run(std::move(call));
  const bool all_to_all = c.kind == CollectiveKind::kAllToAll;
  Elements work = input;
  if (all_to_all) work.resize(3 * input.size(), -1.0F);
  while (!run.advance(transport, work.data())) transport.progress(1);
  if (!all_to_all) return work;
  return {work.begin() + elements, work.begin() + 2 * elements};
}

/// On every rank: all arrangements that fit the world, against the same rounds run in memory, which
/// tests/plan holds to what a collective means. To the last bit.
void run_every_arrangement(Transport& transport) {
  const std::int64_t n = transport.ranks();
  std::uint64_t tag = 1;
  for (const ArrangementCase& c : cases()) {
    if (has_switch(c) || n % c.arrangement.members_per_node != 0) continue;
    for (std::int64_t elements : {std::int64_t{1}, 5 * n + 1, std::int64_t{3000}}) {
      if (c.kind == CollectiveKind::kAllToAll) elements -= elements % n;
      const std::vector<Elements> input = integers(n, elements);
      const auto rank = static_cast<std::size_t>(transport.rank());
      const Elements got = executed(c, transport, input[rank], tag++);
      const Elements want = Group(c, n, elements).run(input)[rank];
      const bool scatters = c.kind == CollectiveKind::kReduceScatter;
      const Range whole{0, elements};
      const Range known = scatters ? share_of(elements, n, transport.rank()) : whole;
      for (std::int64_t k = known.first; k < known.first + known.elements; ++k) {
        const auto at = static_cast<std::size_t>(k);
        ASSERT_EQ(got[at], want[at]) << label(c) << ", rank " << rank << ", element " << k;
      }
    }
  }
}

class RoundsOver : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Transports, RoundsOver, testing::Values("threads", "tcp"),
                         [](const auto& p) { return p.param; });

TEST_P(RoundsOver, GiveEveryRankItsResult) {
  for (std::int64_t ranks : {2, 3, 4, 6, 8}) {
    EXPECT_EQ(run_world(GetParam(), ranks, run_every_arrangement), "") << ranks << " ranks";
    if (HasFailure()) return;
  }
}

// Started by mpirun from the test below.
TEST(RoundsOverMpi, DISABLED_Rank) {
  run_every_arrangement(*load_mpi_transport(transport_channels()));
}

TEST(RoundsOverMpi, GiveEveryRankItsResult) {
  if (!has_mpi_transport()) GTEST_SKIP() << "this build has no MPI";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (std::int64_t ranks : {3, 4}) {
    try {
      EXPECT_EQ(run_mpirun(ranks, {self, "--gtest_brief=1", "--gtest_also_run_disabled_tests",
                                   "--gtest_filter=RoundsOverMpi.DISABLED_Rank"}),
                0);
    } catch (const EnvironmentError& e) {
      const std::string what = e.what();
      if (what.starts_with("mpirun was not found")) GTEST_SKIP() << what;
      throw;
    }
  }
}

}  // namespace plait::rounds_test
