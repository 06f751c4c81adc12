// Recursive halving and doubling (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, sections
// 4.1, 4.3 and 4.5). Let p be the largest power of two with p <= n; member k < n - p is the host of
// member p + k, whose share goes with the host's.
//
//   all_gather      guests send their share to their host;
//                   round t = 0 .. log2 p - 1: i < p and i XOR 2^t exchange the 2^t shares that
//                   each of them has by then;
//                   hosts send their guest all shares but the guest's own
//   reduce_scatter  an all_gather reversed
//   all_reduce      the same doubling of p equal shares, after which hosts send everything to their
//                   guest: first reversed, then forward
//
// Each share is summed on one member and then copied, so all members hold the same bits.
#include <algorithm>
#include <bit>

#include "plan/collectives/patterns.h"

namespace plait {
namespace {

/// Shares of places [first, first + count) and of their guests, as far as these have any.
Pieces held(const Team& team, std::int64_t power, std::int64_t places, std::int64_t first,
            std::int64_t count) {
  Pieces out;
  for (std::int64_t p : {first, first + power}) {
    for (std::int64_t k = p; k < std::min(p + count, places); ++k) append(out, team.share(k));
  }
  return out;
}

Rounds doubling(const Team& team, std::int64_t power, std::int64_t places) {
  Rounds rounds;
  for (std::int64_t bit = 1; bit < power; bit *= 2) {
    Round& round = rounds.emplace_back();
    if (team.place >= power) continue;
    const std::int64_t own = team.place & -bit, peer = team.place ^ bit;
    send(round, team.at(peer), held(team, power, places, own, bit));
    receive(round, team.at(peer), held(team, power, places, own ^ bit, bit));
  }
  return rounds;
}

/// Everything but the guest's own share, host to guest.
Rounds serve_guest(const Team& team, std::int64_t power, std::int64_t places) {
  Round round;
  const bool guest = team.place >= power;
  const std::int64_t k = guest ? team.place : team.place + power;
  if (k >= team.size()) return {round};
  Pieces rest;
  for (std::int64_t p = 0; p < places; ++p) {
    if (p != k) append(rest, team.share(p));
  }
  guest ? receive(round, team.at(k - power), rest) : send(round, team.at(k), rest);
  return {round};
}

Rounds take_from_guest(const Team& team, std::int64_t power) {
  Round round;
  if (team.place >= power) send(round, team.at(team.place - power), team.share(team.place));
  if (team.place + power < team.size()) {
    receive(round, team.at(team.place + power), team.share(team.place + power));
  }
  return {round};
}

}  // namespace

Rounds halving_doubling(CollectiveKind kind, const Team& team) {
  const auto power =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(team.size())));
  const bool guests = power < team.size(), reduces = kind == CollectiveKind::kAllReduce;
  Team with_shares = team;
  if (reduces) with_shares.shares = parts_of(team.whole, power);  // guests have none
  const std::int64_t places = reduces ? power : team.size();
  Rounds gather;
  if (guests && !reduces) gather = take_from_guest(team, power);
  gather = then(std::move(gather), doubling(with_shares, power, places));
  if (guests) gather = then(std::move(gather), serve_guest(with_shares, power, places));
  return from_gather(kind, gather);
}

}  // namespace plait
