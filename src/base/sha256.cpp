#include "base/sha256.h"

namespace darope {

Sha256::Digest Sha256::digest() {
  Digest digest;
  SHA256_Final(digest.data(), &state_);
  return digest;
}

std::string Sha256::hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest()) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

}  // namespace darope
