#include "realrun/transport/threads.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"

namespace plait {

template <class Ready>
void ThreadWorld::wait(std::unique_lock<std::mutex>& lock, const std::string& what,
                       std::int64_t rank, Ready&& ready) {
  const auto patience = std::chrono::duration<double>(patience_s_);
  const bool came = changed_.wait_for(lock, patience, [&] { return aborted_ || ready(); });
  if (aborted_)
    throw EnvironmentError("rank " + std::to_string(rank) + " stopped at " + what +
                           ": another rank failed");
  if (!came) throw EnvironmentError("rank " + std::to_string(rank) + " waited in vain at " + what);
}

class ThreadWorld::Endpoint : public Transport {
 public:
  Endpoint(ThreadWorld& world, std::int64_t rank) : world_(world), rank_(rank) {}

  std::vector<std::vector<std::byte>> exchange(std::span<const std::int64_t> members,
                                               const std::string& what,
                                               std::span<const std::byte> mine) override {
    // The same collective runs again and again; its members count alike.
    const std::string name = what + " #" + std::to_string(met_[what]++);
    const auto place = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank_) -
                                                members.begin());
    std::unique_lock lock(world_.mutex_);
    Meeting& m = world_.meetings_[name];
    m.given.resize(members.size());
    m.given[place].assign(mine.begin(), mine.end());
    ++m.arrived;
    world_.changed_.notify_all();
    world_.wait(lock, name, rank_, [&] { return m.arrived == members.size(); });
    std::vector<std::vector<std::byte>> all = m.given;
    if (++m.left == members.size()) world_.meetings_.erase(name);
    return all;
  }
  void send(std::int64_t to, const std::string& what, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(world_.mutex_);
    world_.messages_[what + " to " + std::to_string(to)].assign(bytes.begin(), bytes.end());
    world_.changed_.notify_all();
  }
  std::vector<std::byte> receive(std::int64_t from, const std::string& what) override {
    const std::string name = what + " to " + std::to_string(rank_);
    std::unique_lock lock(world_.mutex_);
    world_.wait(lock, what + " from " + std::to_string(from), rank_,
                [&] { return world_.messages_.contains(name); });
    std::vector<std::byte> bytes = std::move(world_.messages_[name]);
    world_.messages_.erase(name);
    return bytes;
  }

 private:
  ThreadWorld& world_;
  std::int64_t rank_;
  std::map<std::string, std::int64_t> met_;
};

std::unique_ptr<Transport> ThreadWorld::transport(std::int64_t rank) {
  return std::make_unique<Endpoint>(*this, rank);
}

void ThreadWorld::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

}  // namespace plait
