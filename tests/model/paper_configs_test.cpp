#include <gtest/gtest.h>

#include "base/config.h"
#include "experiments/compare.h"
#include "model/plan.h"

namespace darope {
namespace {

struct Expected {
  const char* name;
  int64_t parameters, of_darope, tokens_per_step,
      steps;  // as the paper's tables and their arithmetic have them
};

TEST(PaperConfigs, LanguageModelsHaveThePapersSizeAndBudget) {
  for (const Expected& expected : {Expected{"lm-124m", 162'147'072, 110'736, 262'144, 76'000},
                                   Expected{"lm-350m", 411'255'808, 393'600, 131'072, 152'600},
                                   Expected{"lm-1b", 1'696'307'200, 819'600, 131'072, 152'600},
                                   Expected{"lm-ablation", 162'147'072, 110'736, 262'144, 76'000}}) {
    SCOPED_TRACE(expected.name);
    CompareConfig config;
    load_config(config, std::string("configs/paper/") + expected.name + ".yaml", {});
    EXPECT_EQ(config.data.batch_size * config.grad_acc_steps * config.data.seq_len, expected.tokens_per_step);
    EXPECT_EQ(config.steps, expected.steps);
    config.model.vocab_size = 100'512;  // cl100k
    config.model.max_seqlen = config.data.seq_len;
    config.model.encoding = "darope";
    const Plan plan(config.model);
    EXPECT_EQ(plan.parameters() - plan.encoding_parameters(), expected.parameters);
    EXPECT_EQ(plan.encoding_parameters(), expected.of_darope);
  }
}

}  // namespace
}  // namespace darope
