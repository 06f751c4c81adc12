// A transport delivers every byte, in order, in both directions, and says so when it cannot.
#include "realrun/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "tests/realrun/worlds.h"

namespace plait::transport_test {

class EveryTransport : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Transports, EveryTransport, testing::Values("threads", "tcp"),
                         [](const auto& p) { return p.param; });

BytesOnTheWay transfer(Flow flow, std::int64_t peer, int channel, std::vector<std::byte>& data,
                       std::uint64_t tag = 7) {
  BytesOnTheWay t;
  t.flow = flow, t.peer = peer, t.channel = channel, t.tag = tag;
  t.data = data.data(), t.bytes = data.size();
  return t;
}

void finish(Transport& transport, std::vector<BytesOnTheWay>& transfers) {
  for (BytesOnTheWay& t : transfers) transport.start(t);
  while (!std::ranges::all_of(transfers, &BytesOnTheWay::done)) transport.progress(1);
}

std::vector<std::byte> pattern(std::size_t bytes, std::int64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed) * 17) & 0xFF);
  }
  return out;
}

TEST_P(EveryTransport, ExchangesMessagesOfAllSizesAmongAllRanks) {
  constexpr std::int64_t kRanks = 4;
  // Larger than any socket buffer: only full duplex gets all of them through at once.
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{8} << 20}) {
    const std::string failure = run_world(GetParam(), kRanks, [&](Transport& t) {
      std::vector<std::byte> mine = pattern(bytes, t.rank());
      std::vector<std::vector<std::byte>> theirs(kRanks, std::vector<std::byte>(bytes));
      std::vector<BytesOnTheWay> transfers;
      for (std::int64_t peer = 0; peer < kRanks; ++peer) {
        if (peer == t.rank()) continue;
        transfers.push_back(transfer(Flow::kOut, peer, 0, mine));
        transfers.push_back(transfer(Flow::kIn, peer, 0, theirs[static_cast<std::size_t>(peer)]));
      }
      finish(t, transfers);
      for (std::int64_t peer = 0; peer < kRanks; ++peer) {
        if (peer == t.rank()) continue;
        EXPECT_EQ(theirs[static_cast<std::size_t>(peer)], pattern(bytes, peer));
      }
    });
    EXPECT_EQ(failure, "");
  }
}

TEST_P(EveryTransport, MessagesOfAChannelArriveInOrderAndBeforeTheyAreExpected) {
  const std::string failure = run_world(GetParam(), 2, [&](Transport& t) {
    Control control(t, 10);
    constexpr int kMessages = 50;
    std::vector<std::vector<std::byte>> data;
    std::vector<BytesOnTheWay> transfers;
    for (int i = 0; i < kMessages; ++i) data.push_back(pattern(static_cast<std::size_t>(i), i));
    if (t.rank() == 0) {
      for (auto& d : data) transfers.push_back(transfer(Flow::kOut, 1, 2, d));
      finish(t, transfers);
      control.barrier();
      return;
    }
    control.barrier();  // everything has been sent by now
    std::vector<std::vector<std::byte>> got = data;
    for (auto& g : got) std::ranges::fill(g, std::byte{0xEE});
    for (auto& g : got) transfers.push_back(transfer(Flow::kIn, 0, 2, g));
    finish(t, transfers);
    EXPECT_EQ(got, data);
  });
  EXPECT_EQ(failure, "");
}

TEST_P(EveryTransport, OneChannelDoesNotWaitForAnother) {
  const std::string failure = run_world(GetParam(), 2, [&](Transport& t) {
    std::vector<std::byte> large(4 << 20), small(16);
    if (t.rank() == 0) {
      std::vector<BytesOnTheWay> transfers = {transfer(Flow::kOut, 1, 0, large),
                                              transfer(Flow::kOut, 1, 1, small)};
      finish(t, transfers);
      return;
    }
    std::vector<BytesOnTheWay> second = {transfer(Flow::kIn, 0, 1, small)};
    finish(t, second);  // while nobody takes the large one
    std::vector<BytesOnTheWay> first = {transfer(Flow::kIn, 0, 0, large)};
    finish(t, first);
  });
  EXPECT_EQ(failure, "");
}

TEST_P(EveryTransport, EndsThatMeanDifferentThingsAreFoundOut) {
  const std::string failure = run_world(GetParam(), 2, [&](Transport& t) {
    std::vector<std::byte> data(8);
    std::vector<BytesOnTheWay> transfers = {transfer(t.rank() == 0 ? Flow::kOut : Flow::kIn,
                                                     1 - t.rank(), 0, data,
                                                     static_cast<std::uint64_t>(t.rank()))};
    finish(t, transfers);
  });
  EXPECT_NE(failure.find("rank 1 and rank 0 disagree"), std::string::npos) << failure;
}

TEST_P(EveryTransport, GathersAndBroadcasts) {
  const std::string failure = run_world(GetParam(), 3, [&](Transport& t) {
    Control control(t, 10);
    const auto all = control.gather(pattern(static_cast<std::size_t>(t.rank()) * 100, t.rank()));
    if (t.rank() == 0) {
      ASSERT_EQ(all.size(), 3U);
      for (std::int64_t r = 0; r < 3; ++r) {
        EXPECT_EQ(all[static_cast<std::size_t>(r)], pattern(static_cast<std::size_t>(r) * 100, r));
      }
    }
    EXPECT_EQ(control.broadcast(t.rank() == 0 ? pattern(10, 3) : std::vector<std::byte>{}),
              pattern(10, 3));
  });
  EXPECT_EQ(failure, "");
}

TEST_P(EveryTransport, WakesFromAnotherThread) {
  const std::string failure = run_world(GetParam(), 1, [&](Transport& t) {
    std::thread other([&t] { t.wake(); });
    t.progress(60);  // the test would time out
    other.join();
  });
  EXPECT_EQ(failure, "");
}

TEST(Tcp, NamesTheRankThatHasGone) {
  const std::string failure = run_world("tcp", 2, [&](Transport& t) {
    if (t.rank() == 1) return;
    std::vector<std::byte> data(8);
    std::vector<BytesOnTheWay> transfers = {transfer(Flow::kIn, 1, 0, data)};
    finish(t, transfers);
  });
  EXPECT_EQ(failure, "rank 0 lost rank 1: the connection is closed");
}

TEST(Tcp, APortInUseIsNamed) {
  TcpAddress address{"127.0.0.1", 0};
  const Descriptor first = listen_at(address);
  try {
    const Descriptor second = listen_at(address);
    FAIL() << "two listeners at one port";
  } catch (const EnvironmentError& e) {
    const std::string where = "127.0.0.1:" + std::to_string(address.port);
    EXPECT_EQ(
        e.what(),
        "cannot listen at " + where +
            ": Address already in use; choose a free port (MASTER_PORT, the same on every rank)");
  }
}

TEST(Tcp, RanksMeetThroughRankZero) {
  TcpAddress meeting{"127.0.0.1", 0};
  {
    const Descriptor probe = listen_at(meeting);  // finds a free port
  }
  constexpr std::int64_t kRanks = 4;
  std::vector<std::thread> threads;
  for (std::int64_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      Descriptor listener;
      const std::vector<TcpAddress> all = meet(r, kRanks, meeting, listener, 10);
      ASSERT_EQ(all.size(), 4U);
      const auto t = connect_ranks(r, all, std::move(listener), transport_channels(), 10);
      Control(*t, 10).barrier();
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Tcp, SaysHowManyRanksHaveCome) {
  TcpAddress meeting{"127.0.0.1", 0};
  { const Descriptor probe = listen_at(meeting); }
  Descriptor listener;
  try {
    meet(0, 3, meeting, listener, 0.2);
    FAIL() << "met nobody";
  } catch (const EnvironmentError& e) {
    EXPECT_STREQ(e.what(), "waited in vain for the other ranks: 1 of 3 have come");
  }
}

}  // namespace plait::transport_test
