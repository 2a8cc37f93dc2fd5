#include "model/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace darope {
namespace {

struct Size {
  const char* name;
  int64_t dim, layers, heads, vocabulary, length;
  bool lingua, tied;
  int64_t shared, of_darope;  // parameters, from the paper's tables and their arithmetic
};

const Size sizes[] = {
    {"124M", 768, 12, 12, 100'512, 4096, true, true, 162'147'072, 110'736},
    {"350M", 1024, 24, 16, 100'512, 4096, true, true, 411'255'808, 393'600},
    {"1B", 2048, 25, 16, 100'512, 4096, true, false, 1'696'307'200, 819'600},
    {"JSB", 192, 8, 6, 90, 2048, false, true, 3'559'488, 9'264},
    {"MAESTRO", 768, 12, 12, 328, 2048, false, true, 12 * 768 * 768 * 12 + 328 * 768 + 25 * 768,
     12 * 12 * 769},
    {"HRG", 1024, 24, 16, 4107, 1000, false, true, 12 * 1024 * 1024 * 24 + 4107 * 1024 + 49 * 1024,
     24 * 16 * 1025},
    {"Sleep-EDF", 256, 6, 8, 256, 1024, false, true, 12 * 256 * 256 * 6 + 256 * 256 + 13 * 256, 6 * 8 * 257},
};

DecoderConfig config_of(const Size& s) {
  DecoderConfig config;
  config.style = s.lingua ? "lingua" : "nanogpt";
  config.dim = s.dim, config.n_layers = s.layers, config.n_heads = s.heads;
  config.vocab_size = s.vocabulary, config.max_seqlen = s.length, config.tied = s.tied;
  return config;
}

TEST(Plan, CountsTheParametersOfThePapersModels) {
  for (const Size& s : sizes) {
    SCOPED_TRACE(s.name);
    const Plan plan(config_of(s));
    EXPECT_EQ(plan.parameters() - plan.encoding_parameters(), s.shared);
    EXPECT_EQ(plan.encoding_parameters(), s.of_darope);
  }
  EXPECT_NEAR(double(Plan(config_of(sizes[4])).parameters()), 85.32e6, 0.01e6);
  EXPECT_NEAR(double(sizes[5].shared), 306.25e6, 0.01e6);
  EXPECT_NEAR(double(sizes[6].shared), 4.79e6, 0.005e6);
}

TEST(Plan, RoundsTheGatedWidthUp) {
  EXPECT_EQ(config_of(sizes[0]).hidden(), 2048);
  EXPECT_EQ(config_of(sizes[1]).hidden(), 2816);
  EXPECT_EQ(config_of(sizes[2]).hidden(), 5632);
}

TEST(Plan, NamesTensorsAsHuggingFaceDoes) {
  DecoderConfig config = config_of(sizes[3]);
  config.encoding = "rope;darope;rope;cope;rope;rope;rope;pope";
  std::vector<std::string> names;
  for (const Weight& weight : Plan(config).weights)
    for (const Part& part : weight.parts) names.push_back(part.name);
  const auto has = [&](const char* name) { return std::count(names.begin(), names.end(), name) == 1; };
  EXPECT_TRUE(has("model.embed_tokens.weight"));
  EXPECT_TRUE(has("model.layers.7.self_attn.k_proj.weight"));
  EXPECT_TRUE(has("model.layers.1.self_attn.darope.w"));
  EXPECT_TRUE(has("model.layers.1.self_attn.darope.alpha"));
  EXPECT_TRUE(has("model.layers.3.self_attn.cope.embedding"));
  EXPECT_TRUE(has("model.layers.7.self_attn.pope.delta"));
  EXPECT_FALSE(has("model.layers.0.self_attn.darope.w"));
  EXPECT_FALSE(has("lm_head.weight"));
}

// What acts on the embeddings is there once, whatever the layers behind the first do.
TEST(Plan, HasAnEncodingOfTheEmbeddingsOnce) {
  DecoderConfig config = config_of(sizes[3]);
  const int64_t shared = Plan(config).parameters() - Plan(config).encoding_parameters();
  for (const char* encoding : {"learned", "learned;learned;rope;rope;rope;rope;rope;learned"}) {
    config.encoding = encoding;
    const Plan plan(config);
    ASSERT_EQ(plan.position_weights.size(), 1u);
    const Weight& table = plan.weights[plan.position_weights[0]];
    EXPECT_EQ(table.parts[0].name, "model.embed_positions.learned.table");
    EXPECT_EQ(table.shape, (std::vector<int64_t>{config.max_seqlen, config.dim}));
    EXPECT_TRUE(table.of_encoding);
    EXPECT_EQ(plan.encoding_parameters(), table.count());
    EXPECT_EQ(plan.parameters() - table.count(), shared);
  }
  config.encoding = "sinusoidal";
  EXPECT_EQ(Plan(config).encoding_parameters(), 0);
}

TEST(Plan, RefusesToEmbedBehindTheFirstLayer) {
  DecoderConfig config = config_of(sizes[3]);
  config.encoding = "rope;rope;rope;rope;rope;rope;learned;rope";
  try {
    Plan{config};
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "model.encoding names learned for layer 6 and rope for layer 0: learned is added to the "
                 "embeddings before the first layer, so give it to layer 0 too");
  }
  config.encoding = "sinusoidal;sinusoidal:base=20;rope;rope;rope;rope;rope;rope";
  EXPECT_THROW(Plan{config}, Error);
}

TEST(Plan, DecaysAsTheStyleDoes) {
  for (const int size : {0, 3})
    for (const Weight& weight : Plan(config_of(sizes[size])).weights)
      EXPECT_EQ(weight.decay, sizes[size].lingua || weight.shape.size() > 1);
}

TEST(Plan, GivesTheSharedBaseToEncodingsThatNameNone) {
  DecoderConfig config;
  config.n_layers = 5, config.vocab_size = config.max_seqlen = 64, config.base = 100;
  config.encoding = "rope;rope-10k;rope:base=7;hope:slow_bands=3;nope";
  EXPECT_EQ(config.layer_encodings(),
            (std::vector<std::string>{"rope:base=100", "rope-10k", "rope:base=7",
                                      "hope:slow_bands=3,base=100", "nope:base=100"}));
  EXPECT_NO_THROW(Plan{config});
}

TEST(Plan, RefusesWhatMakesNoModel) {
  const auto refused = [](auto change) {
    DecoderConfig config;
    config.vocab_size = config.max_seqlen = 64;
    change(config);
    EXPECT_THROW(Plan{config}, Error);
  };
  refused([](DecoderConfig& c) { c.style = "llama"; });
  refused([](DecoderConfig& c) { c.n_heads = 3; });
  refused([](DecoderConfig& c) { c.encoding = "rope;darope"; });
  refused([](DecoderConfig& c) { c.encoding = "ropee"; });
  refused([](DecoderConfig& c) { c.dropout = 1; });
  refused([](DecoderConfig& c) { c.vocab_size = 0; });
}

}  // namespace
}  // namespace darope
