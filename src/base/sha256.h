#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace darope {

// SHA-256 of a stream. libcrypto's plain functions: they use the processor's own instructions where it has
// them, and, unlike the library's newer interface, link without pulling in all of it.
class Sha256 {
 public:
  using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
  Sha256() { SHA256_Init(&state_); }
  void add(std::span<const std::byte> bytes) { SHA256_Update(&state_, bytes.data(), bytes.size()); }
  Digest digest();    // once, at the end
  std::string hex();  // the same in letters

 private:
  SHA256_CTX state_;
};

std::string sha256(std::span<const std::byte> bytes);
std::string sha256(std::string_view text);

}  // namespace darope
