#pragma once
// One op at work on a rank's communication thread.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "realrun/transport.h"

namespace plait {

class Communication {
 public:
  virtual ~Communication() = default;
  Communication() = default;
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;
  /// Starts and goes on as far as it can; true when it has ended.
  virtual bool advance(Transport& transport) = 0;
  /// "rank 3 and rank 5": whom it is waiting for.
  virtual std::string waits_for() const = 0;
  /// Whether what stands behind it in its stream may begin before it has ended: a send on its way.
  virtual bool lets_pass() const { return false; }
};

/// A message to or from one peer.
class Message : public Communication {
 public:
  explicit Message(const BytesOnTheWay& bytes) : bytes_(bytes) {}
  bool advance(Transport& transport) override {
    if (!started_) transport.start(bytes_);
    started_ = true;
    return bytes_.done;
  }
  std::string waits_for() const override { return "rank " + std::to_string(bytes_.peer); }
  bool lets_pass() const override { return bytes_.flow == Flow::kOut; }

 private:
  BytesOnTheWay bytes_;
  bool started_ = false;
};

/// Messages with several peers, all at once.
class Together : public Communication {
 public:
  explicit Together(std::vector<std::unique_ptr<Communication>> parts)
      : parts_(std::move(parts)), ended_(parts_.size(), false) {}
  bool advance(Transport& transport) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      ended_[i] = ended_[i] || parts_[i]->advance(transport);
    }
    return std::ranges::find(ended_, false) == ended_.end();
  }
  std::string waits_for() const override {
    std::string text;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!ended_[i]) text += (text.empty() ? "" : " and ") + parts_[i]->waits_for();
    }
    return text;
  }
  bool lets_pass() const override {
    return std::ranges::all_of(parts_, [](const auto& p) { return p->lets_pass(); });
  }

 private:
  std::vector<std::unique_ptr<Communication>> parts_;
  std::vector<bool> ended_;
};

/// Compute that stands in a communication stream: the cast of a gradient that has come, say.
class LocalWork : public Communication {
 public:
  explicit LocalWork(std::function<void()> work) : work_(std::move(work)) {}
  bool advance(Transport& /*transport*/) override {
    work_();
    return true;
  }
  std::string waits_for() const override { return "nobody"; }

 private:
  std::function<void()> work_;
};

}  // namespace plait
