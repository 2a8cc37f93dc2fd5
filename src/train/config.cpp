#include "train/config.h"

#include "base/config.h"
#include "base/error.h"
#include "base/names.h"

namespace darope {

void TrainConfig::check() const {
  TrainConfig values = *this;
  check_ranges(list_fields(values));
  if (recompute != "none" && recompute != "full")
    throw Error(unknown_name("recompute", recompute, {"none", "full"}));
  optim.check(steps);
}

}  // namespace darope
