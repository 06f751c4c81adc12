#pragma once
// Ranks as processes of this machine: starts them, watches them, and leaves none behind.

#include <cstdint>
#include <functional>

namespace plait {

/// Runs `body(rank)` in `ranks` child processes and returns rank 0's exit code when all have
/// ended well (exit code 0 or 1). When one fails, the others get a moment to say what they waited
/// for, then they are ended too, stopped ones included, and the failure is thrown: InternalError as
/// it was, else EnvironmentError with what each rank said, and naming ranks that were killed or
/// stopped ("rank 2 was killed by signal 9 (Killed)"). Children die with this process. Must be
/// called before threads are started; what `body` throws reaches the parent as text.
int run_processes(std::int64_t ranks, const std::function<int(std::int64_t)>& body);

/// Lets ps and top call this process "plait rank 2".
void name_process(std::int64_t rank);

}  // namespace plait
