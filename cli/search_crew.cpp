#include "cli/search_crew.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "core/error.h"

#if PLAIT_HAS_REALRUN
#include "realrun/launch/started_ranks.h"
#include "realrun/launch/world.h"
#include "realrun/transport/plugin.h"
#endif

namespace plait {

#if PLAIT_HAS_REALRUN

namespace {

constexpr int kLeader = 0;
constexpr double kLookS = 0.05;  // how long to wait for messages before looking around

/// What comes before the layouts of a question: which, or that it is over.
struct Heading {
  enum class Kind : std::int32_t { kQuestion, kNextSpace, kEnd };
  Kind kind = Kind::kQuestion;
  Question::Kind asks = Question::Kind::kBound;
  SimTime limit = 0;
  std::int64_t layouts = 0;
};
// What messages are, for the transport to compare.
constexpr std::uint64_t kHeadingTag = 1, kLayoutsTag = 2, kAnswersTag = 3;

template <class T>
BytesOnTheWay transfer(Flow flow, std::int64_t peer, std::uint64_t tag, T* data, std::size_t n) {
  BytesOnTheWay t;
  t.flow = flow, t.peer = peer, t.tag = tag;
  t.data = reinterpret_cast<std::byte*>(data), t.bytes = n * sizeof(T);
  return t;
}

void wait(Transport& transport, BytesOnTheWay& t) {
  transport.start(t);
  while (!t.done) transport.progress(kLookS);
}

/// Some of a question's layouts, from one on.
struct Piece {
  std::size_t first = 0, count = 0;
};

/// The layouts of one question that nobody has taken yet.
class Pieces {
 public:
  Pieces(const Question& question, std::int64_t ranks, int threads)
      : all_(question.layouts.size()), size_(size_of(question, ranks, threads)) {}

  std::optional<Piece> take() {
    const std::lock_guard lock(mutex_);
    if (next_ == all_) return std::nullopt;
    const Piece piece = {next_, std::min(size_, all_ - next_)};
    next_ += piece.count;
    return piece;
  }
  void abandon() {
    const std::lock_guard lock(mutex_);
    next_ = all_;
  }

 private:
  /// Neighbours share tables of bounds: few large pieces of these. Simulations take long.
  static std::size_t size_of(const Question& q, std::int64_t ranks, int threads) {
    const auto n = static_cast<std::size_t>(threads);
    switch (q.kind) {
      case Question::Kind::kBound:
        return std::max<std::size_t>(4096, q.layouts.size() / static_cast<std::size_t>(8 * ranks));
      case Question::Kind::kCloserBound: return 8 * n;
      case Question::Kind::kSimulate: return n;
    }
    return n;
  }

  std::mutex mutex_;
  std::size_t all_, size_, next_ = 0;
};

Question part_of(const Question& q, Piece piece) {
  const auto first = q.layouts.begin() + static_cast<std::ptrdiff_t>(piece.first);
  return {q.kind, q.limit, {first, first + static_cast<std::ptrdiff_t>(piece.count)}};
}

/// A rank as its leader sees it: with a piece, or free.
class Follower {
 public:
  Follower(Transport& transport, std::int64_t rank) : transport_(transport), rank_(rank) {}

  bool busy() const { return piece_.has_value(); }
  /// Its answers will be in `out`, which has room for all of the question's.
  void begin(const Question& q, Piece piece, std::span<Answer> out) {
    piece_ = piece;
    question_ = part_of(q, piece);
    heading_ = {Heading::Kind::kQuestion, q.kind, q.limit, static_cast<std::int64_t>(piece.count)};
    transfers_ = {transfer(Flow::kOut, rank_, kHeadingTag, &heading_, 1),
                  transfer(Flow::kOut, rank_, kLayoutsTag, question_.layouts.data(), piece.count),
                  transfer(Flow::kIn, rank_, kAnswersTag, &out[piece.first], piece.count)};
    for (BytesOnTheWay& t : transfers_) transport_.start(t);
  }
  /// The piece that it has done since it was last asked.
  std::optional<Piece> done() {
    if (!busy() || !std::ranges::all_of(transfers_, &BytesOnTheWay::done)) return std::nullopt;
    return std::exchange(piece_, std::nullopt);
  }

 private:
  Transport& transport_;
  std::int64_t rank_;
  std::optional<Piece> piece_;
  Question question_;
  Heading heading_;
  std::array<BytesOnTheWay, 3> transfers_;
};

class RankCrew : public Crew {
 public:
  RankCrew(Transport& transport, SearchWork& work, int threads)
      : transport_(transport), work_(work), threads_(threads) {
    for (std::int64_t r = 1; r < transport.ranks(); ++r) {
      followers_.push_back(std::make_unique<Follower>(transport, r));
    }
  }

  void ask(const Question& q, std::span<Answer> out, const Heard& heard) override {
    Pieces pieces(q, transport_.ranks(), threads_);
    const auto enter = [&](Piece piece) {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; heard && i < piece.count; ++i) {
        heard(piece.first + i, out[piece.first + i]);
      }
    };
    std::exception_ptr error;
    {
      const std::jthread own([&] { work_own_pieces(q, pieces, out, enter, error); });
      try {
        lead(q, pieces, out, enter);
      } catch (...) {
        pieces.abandon();
        throw;
      }
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  template <class Enter>
  void work_own_pieces(const Question& q, Pieces& pieces, std::span<Answer> out, Enter& enter,
                       std::exception_ptr& error) {
    try {
      while (const std::optional<Piece> piece = pieces.take()) {
        work_.answer(part_of(q, *piece), threads_, out.subspan(piece->first, piece->count));
        enter(*piece);
      }
    } catch (...) {
      error = std::current_exception();
      pieces.abandon();
    }
  }
  /// Keeps the others at work until they have done all that was left.
  template <class Enter>
  void lead(const Question& q, Pieces& pieces, std::span<Answer> out, Enter& enter) {
    while (true) {
      bool busy = false;
      for (const std::unique_ptr<Follower>& f : followers_) {
        if (const std::optional<Piece> done = f->done()) enter(*done);
        if (!f->busy()) {
          if (const std::optional<Piece> piece = pieces.take()) f->begin(q, *piece, out);
        }
        busy = busy || f->busy();
      }
      if (!busy) return;
      transport_.progress(kLookS);
    }
  }

  Transport& transport_;
  SearchWork& work_;
  int threads_;
  std::vector<std::unique_ptr<Follower>> followers_;
  std::mutex mutex_;  // of whoever hears
};

}  // namespace

bool SearchRanks::leads() const { return transport_ == nullptr || transport_->rank() == kLeader; }

std::unique_ptr<Crew> SearchRanks::crew(SearchWork& work, int threads) const {
  if (transport_ == nullptr) return std::make_unique<ThreadCrew>(work, threads);
  return std::make_unique<RankCrew>(*transport_, work, threads);
}

bool SearchRanks::follow(SearchWork& work, int threads) const {
  while (true) {
    Heading heading;
    BytesOnTheWay first = transfer(Flow::kIn, kLeader, kHeadingTag, &heading, 1);
    wait(*transport_, first);
    if (heading.kind != Heading::Kind::kQuestion) return heading.kind == Heading::Kind::kNextSpace;
    Question q{heading.asks, heading.limit, {}};
    q.layouts.resize(static_cast<std::size_t>(heading.layouts));
    BytesOnTheWay in =
        transfer(Flow::kIn, kLeader, kLayoutsTag, q.layouts.data(), q.layouts.size());
    wait(*transport_, in);
    Answers answers(q.layouts.size());
    work.answer(q, threads, answers);
    BytesOnTheWay out = transfer(Flow::kOut, kLeader, kAnswersTag, answers.data(), answers.size());
    wait(*transport_, out);
  }
}

void SearchRanks::dismiss(bool for_good) const {
  if (transport_ == nullptr) return;
  Heading heading;
  heading.kind = for_good ? Heading::Kind::kEnd : Heading::Kind::kNextSpace;
  for (std::int64_t r = 1; r < transport_->ranks(); ++r) {
    BytesOnTheWay out = transfer(Flow::kOut, r, kHeadingTag, &heading, 1);
    wait(*transport_, out);
  }
}

int on_search_ranks(const std::function<int(const SearchRanks&)>& body) {
  const std::optional<StartedRank> started = started_rank();
  if (!started || started->ranks == 1) return body(SearchRanks());
  WorldOptions world;
  world.transport = started->by != "torchrun" && has_mpi_transport() ? "mpi" : "tcp";
  return run_world(started->ranks, world,
                   [&](Transport& transport) { return body(SearchRanks(transport)); });
}

bool started_by_launcher() {
  const std::optional<StartedRank> started = started_rank();
  return started && started->ranks > 1;
}

bool another_rank_speaks() {
  const std::optional<StartedRank> started = started_rank();
  return started && started->rank != kLeader;
}

#else

bool SearchRanks::leads() const { return true; }
std::unique_ptr<Crew> SearchRanks::crew(SearchWork& work, int threads) const {
  return std::make_unique<ThreadCrew>(work, threads);
}
bool SearchRanks::follow(SearchWork&, int) const { return false; }
void SearchRanks::dismiss(bool) const {}
int on_search_ranks(const std::function<int(const SearchRanks&)>& body) {
  return body(SearchRanks());
}
bool started_by_launcher() { return false; }
bool another_rank_speaks() { return false; }

#endif

}  // namespace plait
