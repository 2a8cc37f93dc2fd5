#pragma once
#include <sys/types.h>

#include <functional>

namespace darope {

// Runs `work` in a process of its own; its return value is the exit code. The parent has computed nothing
// with torch, so the child can: neither threads nor a GPU's context were there to be lost in the fork.
// Signals sent to it are watched from its first moment.
pid_t start_process(const std::function<int()>& work);
int wait_for(pid_t child);  // its exit code; kFailed if it was killed

}  // namespace darope
