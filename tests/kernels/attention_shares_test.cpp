// A rank of a context-parallel group holds some of the queries, all keys and values: its results
// are its rows of the whole, and the ranks' key and value gradients add up to the whole ones.
#include "kernels/attention.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::attention_shares_test {

constexpr std::int64_t kRanks = 2, kChunk = 67;  // a tile of 64 queries stands in both chunks
constexpr std::int64_t kTokens = 2 * kRanks * kChunk;
constexpr std::int64_t kShare = 2 * kChunk;

AttentionShape whole() { return {kTokens, 2, 4, 2, 3}; }
Positions place(std::int64_t rank) {
  return {rank * kChunk, kChunk, (2 * kRanks - 1 - rank) * kChunk};
}
AttentionShape share(std::int64_t rank, const AttentionShape& all = whole()) {
  AttentionShape s = all;
  s.sequence = kShare, s.place = place(rank), s.other_keys = kTokens;
  return s;
}
Dropout dropout(const Positions& at) {
  Dropout d;
  d.probability = 0.3, d.seed = 5, d.positions = kTokens, d.heads = 4, d.place = at;
  return d;
}

using Values = std::vector<double>;

/// Tokens of the share out of rows of `width` for each token and sample.
Values rows_of(const Values& all, std::int64_t rank, std::int64_t width) {
  Values out;
  for (std::int64_t i = 0; i < kShare; ++i) {
    const auto row = all.begin() + place(rank)(i) * 2 * width;
    out.insert(out.end(), row, row + 2 * width);
  }
  return out;
}
/// The last columns of each row.
Values keys_of(const Values& qkv) {
  const AttentionShape s = whole();
  Values out;
  for (auto row = qkv.begin(); row != qkv.end(); row += s.row_width()) {
    out.insert(out.end(), row + s.row_width() - s.kv_row_width(), row + s.row_width());
  }
  return out;
}

struct Pass {
  Values context, saved, dropped, dqkv, dkv;
  std::vector<std::uint8_t> mask;
};

/// Forward and backward; `kv` is empty where keys and values stand in the rows.
Pass pass(const Values& qkv, const Values& kv, const Values& dcontext, const AttentionShape& s,
          const Dropout& d, bool fused) {
  Pass p;
  const std::int64_t rows = s.sequence * s.batch * s.heads;
  p.context = poisoned<double>(rows * s.head_dim);
  p.saved = p.dropped = poisoned<double>(fused ? rows : rows * s.keys());
  p.mask.assign(p.saved.size(), 9);
  p.dqkv = poisoned<double>(static_cast<std::int64_t>(qkv.size()));
  p.dkv = poisoned<double>(static_cast<std::int64_t>(kv.size()));
  const Packed<const double> in(qkv.data(), kv.empty() ? nullptr : kv.data());
  const Packed<double> gradients(p.dqkv.data(), kv.empty() ? nullptr : p.dkv.data());
  if (fused) {
    attention_fused_forward(p.context.data(), p.saved.data(), in, s, d);
    attention_fused_backward(gradients, dcontext.data(), in, p.context.data(), p.saved.data(), s,
                             d);
  } else {
    attention_unfused_forward(p.context.data(), p.saved.data(), p.mask.data(), p.dropped.data(), in,
                              s, d);
    attention_unfused_backward(gradients, dcontext.data(), in, p.context.data(), p.saved.data(),
                               p.mask.data(), p.dropped.data(), s, d.probability);
  }
  return p;
}

void expect_shares_make_the_whole(bool fused, const AttentionShape& all = whole()) {
  const std::int64_t width = all.heads * all.head_dim, tokens = kTokens * all.batch;
  const double allowed = rounding<double>(8 * kTokens);
  Random random;
  const auto qkv = random.values<double>(tokens * all.row_width());
  const auto dcontext = random.values<double>(tokens * width);
  const Pass expected = pass(qkv, {}, dcontext, all, dropout({}), fused);
  Values dkv(static_cast<std::size_t>(tokens * all.kv_row_width()));
  for (std::int64_t r = 0; r < kRanks; ++r) {
    const Pass part = pass(rows_of(qkv, r, all.row_width()), keys_of(qkv),
                           rows_of(dcontext, r, width), share(r, all), dropout(place(r)), fused);
    expect_near(part.context, rows_of(expected.context, r, width), allowed);
    Values dq = rows_of(expected.dqkv, r, all.row_width());
    for (std::size_t i = 0; i < dq.size(); ++i) {  // keys and values have rows of their own
      if (static_cast<std::int64_t>(i) % all.row_width() >= width) dq[i] = 0;
    }
    expect_near(part.dqkv, dq, allowed);
    for (std::size_t i = 0; i < dkv.size(); ++i) dkv[i] += part.dkv[i];
  }
  expect_near(dkv, keys_of(expected.dqkv), allowed);
}

/// The share's attention over the blocks of all ranks, its own first, as in ring attention.
TEST(AttentionShares, BlocksOfKeysMergeIntoTheWhole) {
  const AttentionShape all = whole();
  const std::int64_t width = all.heads * all.head_dim, tokens = kTokens * all.batch;
  const double allowed = rounding<double>(8 * kTokens);
  Random random;
  const auto qkv = random.values<double>(tokens * all.row_width());
  const auto dcontext = random.values<double>(tokens * width);
  const Pass expected = pass(qkv, {}, dcontext, all, dropout({}), true);
  std::vector<Values> dkv(static_cast<std::size_t>(kRanks));  // of each rank's block
  for (std::int64_t r = 0; r < kRanks; ++r) {
    AttentionShape s = share(r);
    s.other_keys = kShare;
    const Values rows = rows_of(qkv, r, all.row_width()), dout = rows_of(dcontext, r, width);
    Pass part;
    part.context = poisoned<double>(static_cast<std::int64_t>(dout.size()));
    part.saved = poisoned<double>(s.sequence * s.batch * s.heads);
    part.dqkv = poisoned<double>(static_cast<std::int64_t>(rows.size()));
    const auto at_step = [&](std::int64_t step) {
      const std::int64_t from = (r - step + kRanks) % kRanks;
      s.keys_place = place(from), s.merges = step > 0;
      return from;
    };
    for (std::int64_t step = 0; step < kRanks; ++step) {
      const Values kv = keys_of(rows_of(qkv, at_step(step), all.row_width()));
      attention_fused_forward(part.context.data(), part.saved.data(), {rows.data(), kv.data()}, s,
                              dropout(place(r)));
    }
    expect_near(part.context, rows_of(expected.context, r, width), allowed);
    for (std::int64_t step = 0; step < kRanks; ++step) {
      const std::int64_t from = at_step(step);
      const Values kv = keys_of(rows_of(qkv, from, all.row_width()));
      Values of_block = poisoned<double>(static_cast<std::int64_t>(kv.size()));
      attention_fused_backward({part.dqkv.data(), of_block.data()}, dout.data(),
                               {rows.data(), kv.data()}, part.context.data(), part.saved.data(), s,
                               dropout(place(r)));
      Values& sum = dkv[static_cast<std::size_t>(from)];
      sum.resize(of_block.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_block[i];
    }
    Values dq = rows_of(expected.dqkv, r, all.row_width());
    for (std::size_t i = 0; i < dq.size(); ++i) {
      if (static_cast<std::int64_t>(i) % all.row_width() >= width) dq[i] = 0;
    }
    expect_near(part.dqkv, dq, allowed);
  }
  for (std::int64_t r = 0; r < kRanks; ++r) {
    const Values want = keys_of(rows_of(expected.dqkv, r, all.row_width()));
    expect_near(dkv[static_cast<std::size_t>(r)], want, allowed);
  }
}

TEST(AttentionShares, FusedOnesMakeTheWhole) { expect_shares_make_the_whole(true); }
TEST(AttentionShares, UnfusedOnesMakeTheWhole) { expect_shares_make_the_whole(false); }

/// Documents within a chunk, over two of one rank and of two ranks, and one that is a chunk.
constexpr std::int64_t kBounds[] = {0, 30, 150, 3 * kChunk, kTokens};
AttentionShape of_documents() {
  AttentionShape s = whole();
  s.documents = 4, s.bounds = kBounds;
  return s;
}
TEST(AttentionShares, FusedOnesOfDocumentsMakeTheWhole) {
  expect_shares_make_the_whole(true, of_documents());
}
TEST(AttentionShares, UnfusedOnesOfDocumentsMakeTheWhole) {
  expect_shares_make_the_whole(false, of_documents());
}

/// Within a tile, over several and over chunks; of documents too.
TEST(AttentionShares, OnesWithinAWindowMakeTheWhole) {
  for (const std::int64_t window : {1, 20, 70, 150}) {
    for (AttentionShape s : {whole(), of_documents()}) {
      s.window = window;
      expect_shares_make_the_whole(true, s);
      expect_shares_make_the_whole(false, s);
    }
  }
}

}  // namespace plait::kernels::attention_shares_test
