#pragma once
// Worlds of ranks as threads of the test, over each transport.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "realrun/control.h"
#include "realrun/transport/tcp.h"
#include "realrun/transport/threads.h"

namespace plait {

using RankBody = std::function<void(Transport&)>;

/// Runs `body` on every rank; the first failure's text, or "".
inline std::string run_world(const std::string& transport, std::int64_t ranks,
                             const RankBody& body) {
  ThreadWorld world(ranks);
  std::vector<TcpAddress> addresses(static_cast<std::size_t>(ranks), TcpAddress{"127.0.0.1", 0});
  std::vector<Descriptor> listeners;
  if (transport == "tcp") {
    for (TcpAddress& a : addresses) listeners.push_back(listen_at(a));
  }
  std::mutex mutex;
  std::string failure;
  std::vector<std::thread> threads;
  for (std::int64_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        std::unique_ptr<Transport> t =
            transport == "tcp"
                ? connect_ranks(r, addresses, std::move(listeners[static_cast<std::size_t>(r)]),
                                transport_channels(), 10)
                : world.transport(r);
        body(*t);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        if (failure.empty()) failure = e.what();
        world.abort();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return failure;
}

}  // namespace plait
