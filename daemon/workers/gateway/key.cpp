#include "workers/gateway/key.hpp"

#include <cstdlib>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "os/fd.hpp"
#include "workers/gateway/settings.hpp"

namespace coffer::gateway {

std::expected<std::string, Error> readKey() {
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  if (directory == nullptr) return std::unexpected(Error{ErrorCode::Internal, "no credentials were given"});
  const Fd file(::open((std::string(directory) + "/key").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(Error{ErrorCode::Internal, "there is no credential named key"});
  std::string key(limits::kGatewayKeyBytes + 2, '\0');
  const auto got = ::read(file.get(), key.data(), key.size());
  key.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (key.ends_with('\n')) key.pop_back();
  if (!isKey(key))
    return std::unexpected(Error{ErrorCode::InvalidArgument, "the provider's key is empty, too long or not printable"});
  return key;
}

bool sameKey(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace coffer::gateway
