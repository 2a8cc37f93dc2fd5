#include "train/config.h"

#include "base/config.h"
#include "base/error.h"

namespace darope {

void TrainConfig::check() const {
  TrainConfig values = *this;
  check_values(list_fields(values));
  optim.check(steps);
}

}  // namespace darope
