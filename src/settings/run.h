#pragma once
#include <string>

#include "base/allowed.h"
#include "data/config.h"
#include "model/config.h"
#include "train/config.h"

namespace darope {

inline const Allowed kDevices{
    .names = {"auto", "cpu", "cuda"}, .pattern = "cuda:[0-9]{1,3}", .or_else = "cuda:N"};
inline const Allowed kDtypes{.names = {"auto", "fp32", "bf16"}};

// Everything one training run depends on.
struct RunConfig : TrainConfig {
  std::string name = "run", dump_dir, weights_of;
  std::string device = "auto", dtype = "auto";
  int64_t threads = 0;
  DecoderConfig model;
  DataConfig data;

  void fields(auto&& visit) {
    visit("name", name, "for people");
    visit("dump_dir", dump_dir, "the run's folder");
    visit("weights_of", weights_of,
          "a finished run beside this one, whose weights are scored with this run's encoding in place of a "
          "training; compare sets it");
    visit("device", device, "cpu, cuda, cuda:1 for the second GPU, or auto: cuda where there is one",
          kDevices);
    visit("dtype", dtype, "of products: fp32, bf16, or auto: bf16 on cuda, fp32 on cpu", kDtypes);
    visit("threads", threads, "CPU threads; 0: as many of all as a step has work for",
          {.least = 0, .most = 1024});
    TrainConfig::fields(visit);
    visit("model", model, "");
    visit("data", data, "");
  }
};

}  // namespace darope
