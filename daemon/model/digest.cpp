#include "model/digest.hpp"

#include <array>
#include <new>

#include <openssl/evp.h>

namespace coffer::model {

namespace {
constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kHex = "0123456789abcdef";
}  // namespace

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, 32> hash{};
  unsigned int length = 0;
  // The only way this can fail is for lack of memory.
  if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), &length, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  std::string text(kPrefix);
  text.reserve(kPrefix.size() + 2 * hash.size());
  for (const unsigned char byte : hash) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

bool isDigest(std::string_view text) {
  return text.size() == kPrefix.size() + 64 && text.starts_with(kPrefix) &&
         text.find_first_not_of(kHex, kPrefix.size()) == std::string_view::npos;
}

}  // namespace coffer::model
