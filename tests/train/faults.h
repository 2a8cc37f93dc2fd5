#pragma once

// The test binary is linked with --wrap for every system call that changes a disk, so that each can be made
// to fail or to be the last thing a process does. The product itself knows nothing of this.
namespace darope::faults {

enum class Mode { kOff, kDie, kDieHalfway, kFail };
inline constexpr int kDied = 99;  // exit status of a process that died of a fault

// The call-th change from now on, and with kFail every later one that needs space, meets the fault.
void arm(Mode mode, int call, int code = 0);
void disarm();
bool struck();  // whether the fault was reached

}  // namespace darope::faults
