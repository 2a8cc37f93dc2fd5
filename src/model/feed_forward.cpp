#include "model/feed_forward.h"

#include "base/error.h"
#include "base/names.h"

namespace darope {

const FeedForward& feed_forward(const std::string& name) {
  std::vector<std::string> known;
  for (const FeedForward& each : feed_forwards()) {
    if (each.name == name) return each;
    known.emplace_back(each.name);
  }
  throw Error(unknown_name("model.feed_forward", name, known));
}

}  // namespace darope
