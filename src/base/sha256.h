#pragma once
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
  Sha256() { SHA256_Init(&state_); }
  void add(std::span<const std::byte> bytes) { SHA256_Update(&state_, bytes.data(), bytes.size()); }
  std::string hex();  // once, at the end

 private:
  SHA256_CTX state_;
};

std::string sha256(std::span<const std::byte> bytes);
std::string sha256(std::string_view text);

}  // namespace darope
