#include "realrun/transport/threads.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/error.h"
#include "realrun/transport/mismatch.h"

namespace plait {

class ThreadWorld::Endpoint : public Transport {
 public:
  Endpoint(ThreadWorld& world, std::int64_t rank)
      : world_(world), inbox_(*world.inboxes_[static_cast<std::size_t>(rank)]), rank_(rank) {}

  std::int64_t rank() const override { return rank_; }
  std::int64_t ranks() const override { return static_cast<std::int64_t>(world_.inboxes_.size()); }
  std::string name() const override { return "threads"; }

  void start(BytesOnTheWay& t) override {
    if (t.flow == Flow::kIn) {
      expected_.push_back(&t);
      return;
    }
    Letter letter{t.tag, {t.data, t.data + t.bytes}};
    Inbox& to = *world_.inboxes_.at(static_cast<std::size_t>(t.peer));
    {
      const std::lock_guard lock(to.mutex);
      to.letters[{rank_, t.channel}].push_back(std::move(letter));
    }
    to.changed.notify_one();
    t.done = true;
  }

  bool progress(double most_s) override {
    std::vector<std::pair<BytesOnTheWay*, Letter>> arrived;
    {
      std::unique_lock lock(inbox_.mutex);
      inbox_.changed.wait_for(lock, std::chrono::duration<double>(most_s), [&] {
        take(arrived);
        return inbox_.woken || inbox_.aborted || !arrived.empty();
      });
      inbox_.woken = false;
      if (inbox_.aborted) throw EnvironmentError("another rank failed");
    }
    for (auto& [t, letter] : arrived) {
      if (letter.tag != t->tag || letter.bytes.size() != t->bytes) throw mismatch(rank_, *t);
      std::memcpy(t->data, letter.bytes.data(), t->bytes);
      t->done = true;
    }
    return !arrived.empty();
  }
  void wake() override {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.woken = true;
    }
    inbox_.changed.notify_one();
  }

 private:
  /// Moves the letters that are expected out of the inbox.
  void take(std::vector<std::pair<BytesOnTheWay*, Letter>>& arrived) {
    std::erase_if(expected_, [&](BytesOnTheWay* t) {
      const auto found = inbox_.letters.find({t->peer, t->channel});
      if (found == inbox_.letters.end() || found->second.empty()) return false;
      arrived.emplace_back(t, std::move(found->second.front()));
      found->second.pop_front();
      return true;
    });
  }

  ThreadWorld& world_;
  Inbox& inbox_;
  std::int64_t rank_;
  std::vector<BytesOnTheWay*> expected_;  // in the order of their start
};

ThreadWorld::ThreadWorld(std::int64_t ranks) {
  for (std::int64_t r = 0; r < ranks; ++r) inboxes_.push_back(std::make_unique<Inbox>());
}

std::unique_ptr<Transport> ThreadWorld::transport(std::int64_t rank) {
  return std::make_unique<Endpoint>(*this, rank);
}

void ThreadWorld::abort() {
  for (const std::unique_ptr<Inbox>& inbox : inboxes_) {
    {
      const std::lock_guard lock(inbox->mutex);
      inbox->aborted = true;
    }
    inbox->changed.notify_one();
  }
}

}  // namespace plait
