#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "settings/run.h"

namespace darope {

// Says what the training of a resolved config will take of the device's memory. An Error where weights,
// gradients and moments alone are more than is free, a warning where the whole is; both name what to change.
void say_memory(const RunConfig& config, at::Device device, at::ScalarType type);

// What makes this run take less: "try data.batch_size=8 grad_acc_steps=2 (steps of as many sequences), or
// recompute=full, or ...".
std::string how_to_take_less(const RunConfig& config);

}  // namespace darope
