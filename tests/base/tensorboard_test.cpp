#include "base/tensorboard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace darope {
namespace {

constexpr double kWall = 1'700'000'000;

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

TEST(TensorBoard, Checksums) {
  EXPECT_EQ(events::masked_crc32c("123456789"), 0xC78AB0E5u);
  EXPECT_EQ(events::masked_crc32c(""), 0xA282EAD8u);
}

TEST(TensorBoard, KnownRecords) {
  EXPECT_EQ(hex(events::record(events::file_version(kWall))),
            "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
  EXPECT_EQ(hex(events::record(events::scalars(kWall, 10, {{"loss/out", 2.5}}))),
            "1e00000000000000d9dc12320900000040fc54d941100a2a110a0f0a086c6f73732f6f75741500002040417548a3");
  EXPECT_EQ(hex(events::record(events::session_start(kWall, 5))),
            "0f000000000000006d532b090900000040fc54d94110053a020801f96efb7c");
  EXPECT_EQ(
      hex(events::record(events::hparams_start(kWall, {{"model.pe", "darope"}, {"optim.lr", 0.003}}, "g"))),
      "7d0000000000000061558d7e0900000040fc54d9412a720a700a1c5f68706172616d735f2f73657373696f6e5f73746172745f"
      "696e666f"
      "42060801120212004a480a460a0768706172616d73123b1a390a140a086d6f64656c2e706512081a066461726f70650a150a08"
      "6f707469"
      "6d2e6c72120911fa7e6abc7493683f2201672900000040fc54d941234c5a25");
  EXPECT_EQ(hex(events::record(events::hparams_end(kWall, SessionStatus::kSuccess))),
            "4d000000000000003d63d4a60900000040fc54d9412a420a400a1a5f68706172616d735f2f73657373696f6e5f656e64"
            "5f696e666f4206"
            "0801120212004a1a0a180a0768706172616d73120d220b08011100000040fc54d941e56a21b4");
}

TEST(TensorBoard, NewFilesSortBehindOldOnes) {
  const Scratch folder;
  for (int life = 0; life < 3; ++life) EventFile(folder / "tb", life);
  write_file(folder / "tb/events.out.tfevents.9000000000.host.1.0", "");
  EventFile last(folder / "tb");
  last.scalars(1, {{"a", 1.0}});
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tb"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 5u);
  expect_contains(names.back(), "events.out.tfevents.9000000001.");
  EXPECT_EQ(size_of_file(folder / "tb" / names.back()), 40 + 16 + 9 + 2 + 12);
}

}  // namespace
}  // namespace darope
