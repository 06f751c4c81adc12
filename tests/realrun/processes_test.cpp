// Ranks as processes: results come back, failures are named, nobody stays behind.
#include "realrun/launch/processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.h"

namespace plait::processes_test {

constexpr std::int64_t kRanks = 4;

/// What child processes leave for the test.
struct Notes {
  std::atomic<pid_t> pid[kRanks] = {};
};
class Processes : public testing::Test {
 protected:
  Processes()
      : notes_(new (mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) Notes) {}
  ~Processes() override { munmap(notes_, sizeof(Notes)); }
  void note(std::int64_t rank) { notes_->pid[rank] = getpid(); }
  bool all_gone() const {
    for (const auto& pid : notes_->pid) {
      if (pid != 0 && kill(pid, 0) == 0) return false;
    }
    return true;
  }
  Notes* notes_;
};

void wait_for_ever() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

TEST_F(Processes, ReturnRankZerosExitCode) {
  EXPECT_EQ(run_processes(kRanks, [](std::int64_t rank) { return rank == 0 ? 1 : 0; }), 1);
  EXPECT_EQ(run_processes(kRanks, [](std::int64_t) { return 0; }), 0);
}

TEST_F(Processes, AKilledRankIsNamedAndTheOthersAreEnded) {
  try {
    run_processes(kRanks, [this](std::int64_t rank) {
      note(rank);
      if (rank == 2) raise(SIGKILL);
      wait_for_ever();
      return 0;
    });
    FAIL() << "went on without rank 2";
  } catch (const EnvironmentError& e) {
    EXPECT_STREQ(e.what(), "rank 2 was killed by signal 9 (Killed)");
  }
  EXPECT_TRUE(all_gone());
}

TEST_F(Processes, WhatARankThrowsIsThrown) {
  try {
    run_processes(kRanks, [this](std::int64_t rank) -> int {
      note(rank);
      if (rank == 1) throw EnvironmentError("no room left");
      wait_for_ever();
      return 0;
    });
    FAIL() << "nothing was thrown";
  } catch (const EnvironmentError& e) {
    EXPECT_STREQ(e.what(), "no room left");
  }
  EXPECT_TRUE(all_gone());
  EXPECT_THROW(run_processes(1, [](std::int64_t) -> int { throw InternalError("a bug"); }),
               InternalError);
}

TEST_F(Processes, DieWithTheirParent) {
  const pid_t parent = fork();
  if (parent == 0) {
    run_processes(kRanks, [this](std::int64_t rank) {
      note(rank);
      wait_for_ever();
      return 0;
    });
    _exit(0);
  }
  while (notes_->pid[kRanks - 1] == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(parent, SIGKILL);
  // The kernel ends the children; init (or the subreaper) takes their remains away.
  for (int i = 0; i < 500 && !all_gone(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  bool alive = false;
  for (const auto& pid : notes_->pid) {
    const std::string status = "/proc/" + std::to_string(pid) + "/stat";
    if (FILE* f = fopen(status.c_str(), "r"); f != nullptr) {
      char state = '?';
      if (fscanf(f, "%*d %*s %c", &state) == 1 && state != 'Z') alive = true;
      fclose(f);
    }
  }
  EXPECT_FALSE(alive);
}

}  // namespace plait::processes_test
