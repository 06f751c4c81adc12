#pragma once
// Network namespaces without names: each lives as long as a process or a descriptor holds it. So
// nothing remains when the process that made them ends, however it ends.

#include <functional>

#include "realrun/transport/tcp.h"

namespace plait {

/// Moves the calling thread into a new network namespace, where it may do as it likes. Without the
/// right to (CAP_SYS_ADMIN) it first becomes root of a user namespace of its own, which needs a
/// process without other threads. Throws NotPermitted. Processes forked afterwards are there too.
void enter_own_network();

/// A further network namespace; the calling thread stays where it is. After enter_own_network.
Descriptor make_network();

/// Moves the calling thread.
void enter_network(const Descriptor& network);

/// Runs `body` there, and comes back.
void inside_network(const Descriptor& network, const std::function<void()>& body);

/// Runs `body` in a child process, whose only thread is free to call enter_own_network, and returns
/// what `body` returns (0 to 255). The child dies with this process. NotPermitted and InternalError
/// pass through as they were thrown, other exceptions as EnvironmentError with their text: what a
/// user may have got wrong is checked before.
int run_in_own_network(const std::function<int()>& body);

}  // namespace plait
