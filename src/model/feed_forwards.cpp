#include "model/feed_forward.h"

namespace darope {

// One line per feed-forward part. The class lives in the file of its name.
static const std::vector<FeedForward> table = {
    // clang-format off
    feed_forward_of<class SwiGLU>(),
    feed_forward_of<class GELU>(),
    // clang-format on
};

const std::vector<FeedForward>& feed_forwards() { return table; }

}  // namespace darope
