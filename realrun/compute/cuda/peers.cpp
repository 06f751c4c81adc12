#include "realrun/compute/cuda/peers.h"

#include <cuda_bf16.h>

#include <map>

#include "core/error.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/cast.h"
#include "plan/collectives/rounds.h"
#include "realrun/compute/cuda/block_pool.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;

/// Kernels of one rank on one of its streams.
class Hands {
 public:
  Hands(const Lane& lane, const GpuShare& share) : queue_{lane.stream, share.multiprocessors()} {}

  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    constexpr std::int64_t kWord = sizeof(float);
    const auto odd = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kWord != 0; };
    if (to == from || bytes == 0) return;
    if (odd(to) || odd(from) || bytes % kWord != 0) {
      CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                 cudaMemcpyDeviceToDevice, queue_.stream));
      return;
    }
    k::cast(queue_, reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
            bytes / kWord);
  }
  /// to = to + from, or the larger one.
  void combine(std::byte* to, const std::byte* from, std::int64_t elements, DType type,
               Reduction reduction) const {
    auto* const floats = reinterpret_cast<float*>(to);
    if (reduction == Reduction::kMax) {
      PLAIT_CHECK(type == DType::kFp32, "maxima of other numbers than fp32");
      return k::take_larger(queue_, floats, reinterpret_cast<const float*>(from), elements);
    }
    if (type == DType::kFp32) {
      return k::accumulate(queue_, floats, reinterpret_cast<const float*>(from), elements);
    }
    PLAIT_CHECK(type == DType::kBf16, "numbers that cannot be added up");
    k::accumulate(queue_, reinterpret_cast<__nv_bfloat16*>(to),
                  reinterpret_cast<const __nv_bfloat16*>(from), elements);
  }

 private:
  k::Queue queue_;
};

/// What a rank does in each stage of a collective, given the others' operands.
class Shares {
 public:
  Shares(const CollectiveOf<Part>& c, const std::vector<DType>& types, const Hands& hands,
         const std::vector<Post>& posts)
      : c_(c),
        types_(types),
        hands_(hands),
        posts_(posts),
        n_(static_cast<std::int64_t>(c.group.size())) {}

  void take(int stage) const {
    switch (c_.kind) {
      case CollectiveKind::kAllReduce: return stage == 0 ? reduce_own() : gather_others();
      case CollectiveKind::kReduceScatter: return c_.in_place ? reduce_pieces() : reduce_share();
      case CollectiveKind::kAllGather: return gather();
      case CollectiveKind::kAllToAll: return exchange();
      case CollectiveKind::kShift: return copy(0, 0, out(), (c_.index + n_ - 1) % n_, in(), 0);
      case CollectiveKind::kPush: return push();
      case CollectiveKind::kPull: return pull();
      case CollectiveKind::kBroadcast: break;  // no plan has one
    }
  }

 private:
  using Addresses = std::vector<std::byte*> Post::*;
  static Addresses in() { return &Post::in; }
  static Addresses out() { return &Post::out; }
  const Part& part(std::size_t i) const { return i < c_.out.size() ? c_.out[i] : c_.in.at(i); }
  DType type() const { return types_.at((c_.in.empty() ? c_.out : c_.in).at(0).operand); }
  std::byte* at(std::int64_t member, Addresses of, std::size_t i, std::int64_t first) const {
    const Post& post = posts_.at(static_cast<std::size_t>(member));
    return (post.*of).at(i) + first * size_of(type());
  }
  /// All of the own piece i from element `first` on, from a member's piece 0.
  void copy(std::size_t i, std::int64_t first, Addresses to, std::int64_t member, Addresses from,
            std::int64_t there, std::int64_t elements = -1) const {
    const std::int64_t count = elements < 0 ? part(i).elements : elements;
    hands_.copy(at(c_.index, to, i, first), at(member, from, i, there), count * size_of(type()));
  }
  void combine(std::byte* to, const std::byte* from, std::int64_t elements) const {
    hands_.combine(to, from, elements, type(), c_.reduction);
  }

  void reduce_own() const {
    PLAIT_CHECK(c_.in_place, "an all_reduce to another buffer");
    for (std::size_t i = 0; i < c_.in.size(); ++i) {
      const Range own = share_of(c_.in[i].elements, n_, c_.index);
      for (std::int64_t p = 0; p < n_; ++p) {
        if (p == c_.index) continue;
        combine(at(c_.index, in(), i, own.first), at(p, in(), i, own.first), own.elements);
      }
    }
  }
  void gather_others() const {
    for (std::size_t i = 0; i < c_.in.size(); ++i) {
      for (std::int64_t p = 0; p < n_; ++p) {
        const Range theirs = share_of(c_.in[i].elements, n_, p);
        if (p != c_.index) copy(i, theirs.first, in(), p, in(), theirs.first, theirs.elements);
      }
    }
  }
  /// In place the pieces are the ranks' shares, one rank's behind the other's.
  void reduce_pieces() const {
    const std::size_t each = c_.in.size() / static_cast<std::size_t>(n_);
    const std::size_t first = each * static_cast<std::size_t>(c_.index);
    for (std::size_t i = first; i < first + each; ++i) {
      for (std::int64_t p = 0; p < n_; ++p) {
        if (p == c_.index) continue;
        combine(at(c_.index, in(), i, 0), at(p, in(), i, 0), c_.in[i].elements);
      }
    }
  }
  void reduce_share() const {
    const std::int64_t share = c_.out[0].elements, first = c_.index * share;
    copy(0, 0, out(), c_.index, in(), first, share);
    for (std::int64_t p = 0; p < n_; ++p) {
      if (p != c_.index) combine(at(c_.index, out(), 0, 0), at(p, in(), 0, first), share);
    }
  }
  void gather() const {
    const std::int64_t share = c_.out[0].elements / n_;
    for (std::int64_t p = 0; p < n_; ++p) {
      if (p == c_.index && c_.in_place) continue;
      copy(0, p * share, out(), p, in(), c_.in_place ? p * share : 0, share);
    }
  }
  void exchange() const {
    const std::int64_t share = c_.out[0].elements / n_;
    for (std::int64_t p = 0; p < n_; ++p) {
      copy(0, p * share, out(), p, in(), c_.index * share, share);
    }
  }
  /// A server adds up what the workers have of its share, in their order, its own first.
  void push() const {
    if (c_.out.empty()) return;
    const std::int64_t share = c_.servers.share_of(n_, c_.index), workers = c_.servers.workers(n_);
    const std::int64_t whole = c_.bytes.value / size_of(type());
    const std::int64_t first = share_of(whole, c_.servers.count, share).first;
    const std::int64_t start = c_.in.empty() ? 0 : c_.index;
    copy(0, 0, out(), start, in(), first, c_.out[0].elements);
    for (std::int64_t p = 0; p < workers; ++p) {
      if (p == start) continue;
      combine(at(c_.index, out(), 0, 0), at(p, in(), 0, first), c_.out[0].elements);
    }
  }
  void pull() const {
    for (std::int64_t share = 0; !c_.out.empty() && share < c_.servers.count; ++share) {
      const Range range = share_of(c_.out[0].elements, c_.servers.count, share);
      copy(0, range.first, out(), c_.servers.member_of(n_, share), in(), 0, range.elements);
    }
  }

  const CollectiveOf<Part>& c_;
  const std::vector<DType>& types_;
  const Hands& hands_;
  const std::vector<Post>& posts_;
  std::int64_t n_;
};

class PeerExchange : public Communication {
 public:
  PeerExchange(SharedGpu& gpu, std::int64_t rank, const Lane& lane, CollectiveOf<Part> collective,
               std::int64_t number, const Operands& operands, std::vector<DType> types)
      : board_(gpu.board),
        lane_(lane),
        hands_(lane, *gpu.shares.at(static_cast<std::size_t>(rank))),
        c_(std::move(collective)),
        types_(std::move(types)),
        meeting_{c_.channel, c_.group, number, 0},
        operands_(operands) {}

  bool advance(Transport& transport) override {
    if (!begun_) {
      enter(lane_);
      begun_ = true;
      post();
    }
    while (!queued_) {
      const std::optional<std::vector<Post>> posts = board_.take(meeting_);
      if (!posts) return false;
      for (const Post& p : *posts) {
        CUDA_CHECK(cudaStreamWaitEvent(lane_.stream, p.event->get(), 0));
      }
      if (meeting_.stage < stages()) {
        Shares(c_, types_, hands_, *posts).take(meeting_.stage);
        ++meeting_.stage;
        post();
      } else {  // nobody reads this rank's operands any more
        arrival_.queue(lane_.stream, transport);
        queued_ = true;
      }
    }
    return arrival_.arrived();
  }
  std::string waits_for() const override { return "the ranks it shares its GPU with"; }

 private:
  int stages() const { return c_.kind == CollectiveKind::kAllReduce ? 2 : 1; }
  void post() {
    Post mine;
    mine.event = std::make_shared<EventHandle>(make_mark());
    CUDA_CHECK(cudaEventRecord(mine.event->get(), lane_.stream));
    for (const Part& p : c_.in) mine.in.push_back(address_of(p, types_.at(p.operand), operands_));
    for (const Part& p : c_.out) mine.out.push_back(address_of(p, types_.at(p.operand), operands_));
    board_.post(meeting_, c_.index, std::move(mine));
  }

  Board& board_;
  Lane lane_;
  Hands hands_;
  CollectiveOf<Part> c_;
  std::vector<DType> types_;
  Meeting meeting_;
  Operands operands_;
  bool begun_ = false, queued_ = false;
  Arrival arrival_;
};

/// One end of a message. Sends are eager, as in the simulator and over transports: the sender
/// leaves a copy and goes on. Stages that wait for what they have sent before they receive would
/// else wait for one another.
class PeerMessage : public Communication {
 public:
  PeerMessage(SharedGpu& gpu, MessagePool& pool, std::int64_t rank, const Lane& lane,
              const PointToPoint& end, Meeting meeting, std::byte* at, std::int64_t bytes)
      : board_(gpu.board),
        pool_(pool),
        lane_(lane),
        hands_(lane, *gpu.shares.at(static_cast<std::size_t>(rank))),
        flow_(end.flow),
        meeting_(std::move(meeting)),
        at_(at),
        bytes_(bytes) {}

  bool advance(Transport& transport) override {
    if (!queued_) {
      if (flow_ == Flow::kOut) {
        leave();
      } else if (!fetch()) {
        return false;
      }
      arrival_.queue(lane_.stream, transport);
      queued_ = true;
    }
    return arrival_.arrived();
  }
  std::string waits_for() const override { return "the ranks it shares its GPU with"; }

 private:
  void leave() {
    enter(lane_);
    Letter letter{std::make_shared<EventHandle>(make_mark()),
                  pool_.take(static_cast<std::size_t>(bytes_))};
    hands_.copy(letter.bytes.get(), at_, bytes_);
    CUDA_CHECK(cudaEventRecord(letter.written->get(), lane_.stream));
    board_.leave(meeting_, std::move(letter));
  }
  /// False: it is not there yet.
  bool fetch() {
    letter_ = board_.fetch(meeting_);
    if (!letter_) return false;
    enter(lane_);
    CUDA_CHECK(cudaStreamWaitEvent(lane_.stream, letter_->written->get(), 0));
    hands_.copy(at_, letter_->bytes.get(), bytes_);
    return true;
  }

  Board& board_;
  MessagePool& pool_;
  Lane lane_;
  Hands hands_;
  Flow flow_;
  Meeting meeting_;
  std::byte* at_;
  std::int64_t bytes_;
  std::optional<Letter> letter_;  // until it has been read
  bool queued_ = false;
  Arrival arrival_;
};

class Peers : public Direct {
 public:
  Peers(std::shared_ptr<SharedGpu> gpu, Transport& transport)
      : gpu_(std::move(gpu)), rank_(transport.rank()) {}
  ~Peers() override { gpu_->board.join(rank_, nullptr); }

  std::unique_ptr<Communication> exchange(const Lane& lane, const Exchange& exchange,
                                          const Operands& operands, const std::vector<DType>& types,
                                          const std::string& /*what*/) override {
    return std::visit([&](const auto& e) { return of(e, lane, operands, types); }, exchange);
  }

 private:
  std::unique_ptr<Communication> of(const CollectiveOf<Part>& c, const Lane& lane,
                                    const Operands& operands, const std::vector<DType>& types) {
    const std::int64_t number = next(c.channel, c.group);
    return std::make_unique<PeerExchange>(*gpu_, rank_, lane, c, number, operands, types);
  }
  std::unique_ptr<Communication> of(const PointToPoint& m, const Lane& lane,
                                    const Operands& operands, const std::vector<DType>& types) {
    const auto& [peer, part] = m.messages.at(0);
    const std::vector<std::int64_t> from_to =
        m.flow == Flow::kOut ? std::vector{rank_, peer} : std::vector{peer, rank_};
    const DType type = types.at(part.operand);
    return std::make_unique<PeerMessage>(
        *gpu_, *pool_, rank_, lane, m, Meeting{m.channel, from_to, next(m.channel, from_to), 0},
        address_of(part, type, operands), part.elements * size_of(type));
  }
  /// How many of this channel's in this group have been.
  std::int64_t next(int channel, const std::vector<std::int64_t>& group) {
    return numbers_[{channel, group}]++;
  }

  std::shared_ptr<SharedGpu> gpu_;
  std::int64_t rank_;
  std::map<std::pair<int, std::vector<std::int64_t>>, std::int64_t> numbers_;
  std::shared_ptr<MessagePool> pool_ = std::make_shared<MessagePool>();
};

}  // namespace

std::unique_ptr<Direct> peers_on_gpu(std::shared_ptr<SharedGpu> gpu, Transport& transport) {
  return std::make_unique<Peers>(std::move(gpu), transport);
}

}  // namespace plait::cuda
