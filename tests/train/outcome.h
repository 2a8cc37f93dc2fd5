#pragma once
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "runs/checkpoint_dir.h"
#include "scratch.h"
#include "small.h"
#include "train/trainer.h"

// What a training leaves, to be held against another's.
namespace darope {

struct Outcome {
  std::string model, optimizer;  // bytes of the checkpoint
  std::vector<double> losses, rates, tokens;
};

inline Outcome outcome_of(const std::filesystem::path& folder) {
  Outcome out;
  const std::filesystem::path newest = newest_checkpoint(folder / "checkpoints")->folder;
  out.model = read_file(newest / "model.safetensors");
  out.optimizer = read_file(newest / "optim.safetensors");
  const std::string metrics = read_file(folder / "metrics.jsonl");
  for (size_t begin = 0, end; (end = metrics.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json line = parse_json(metrics.substr(begin, end - begin), "metrics");
    out.losses.push_back(line.at("loss/out"));
    out.rates.push_back(line.at("optim/lr"));
    out.tokens.push_back(line.at("optim/total_tokens"));
  }
  return out;
}

inline void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_TRUE(a.model == b.model) << "weights differ";
  EXPECT_TRUE(a.optimizer == b.optimizer) << "moments differ";
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.rates, b.rates);
  EXPECT_EQ(a.tokens, b.tokens);
}

inline Outcome train_whole(const DecoderConfig& model_config, const TrainConfig& config) {
  const Scratch folder;
  Decoder model(model_config, at::kCPU);
  train(model, *reversing().train, config, folder.path());
  return outcome_of(folder.path());
}

}  // namespace darope
