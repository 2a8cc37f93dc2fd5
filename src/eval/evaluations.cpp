#include "eval/evaluation.h"

namespace darope {

// One line per evaluation. The class lives in the file of its name.
static const std::vector<Evaluation> table = {
    // clang-format off
    evaluation_of<class Answers>(),
    evaluation_of<class FreeRunning>(),
    evaluation_of<class Likelihood>(),
    evaluation_of<class Positions>(),
    evaluation_of<class Digression>(),
    evaluation_of<class Recall>(),
    evaluation_of<class Shuffle>(),
    // clang-format on
};

const std::vector<Evaluation>& evaluations() { return table; }

}  // namespace darope
