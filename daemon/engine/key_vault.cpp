#include "engine/key_vault.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <systemd/sd-json.h>
#include <systemd/sd-varlink.h>
#include <unistd.h>

#include "engine/keep.hpp"
#include "engine/places.hpp"
#include "engine/sweep.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

constexpr const char* kSocket = "/run/systemd/io.systemd.Credentials";
// The service is started for the call; a TPM may take seconds.
constexpr std::uint64_t kTimeoutUs = 30'000'000;

struct Answer {
  std::string blob;
  std::string error;
};

int onReply(sd_varlink*, sd_json_variant* parameters, const char* error, sd_varlink_reply_flags_t, void* data) {
  auto* completion = static_cast<Completion<Answer>*>(data);
  Answer answer;
  if (error) {
    answer.error = error;
  } else if (auto* blob = sd_json_variant_by_key(parameters, "blob"); blob && sd_json_variant_is_string(blob)) {
    answer.blob = sd_json_variant_string(blob);
  } else {
    answer.error = "an answer without a blob";
  }
  completion->set(std::move(answer));
  return 0;
}

std::unexpected<Error> unreachable(const std::string& why) {
  return std::unexpected(
      Error{ErrorCode::Environment, "the key cannot be encrypted: systemd's credential service says " + why +
                                        "; try `systemd-creds setup` and see journalctl -u 'systemd-creds@*'"});
}

std::unexpected<Error> failed(const std::string& what) {
  const int number = errno;
  return std::unexpected(Error{ErrorCode::Internal, "cannot " + what + ": " + std::strerror(number)});
}

}  // namespace

Async<std::expected<void, Error>> KeyVault::put(std::uint64_t provider, std::string baseUrl, std::string key) {
  sd_varlink* raw = nullptr;
  int r = sd_varlink_connect_address(&raw, kSocket);
  const std::unique_ptr<sd_varlink, sd_varlink* (*)(sd_varlink*)> link(raw, sd_varlink_flush_close_unref);
  if (r < 0) co_return unreachable(std::strerror(-r));
  Completion<Answer> completion;
  sd_varlink_set_userdata(link.get(), &completion);
  r = sd_varlink_set_relative_timeout(link.get(), kTimeoutUs);
  if (r >= 0) r = sd_varlink_bind_reply(link.get(), onReply);
  if (r >= 0) r = sd_varlink_attach_event(link.get(), event_, SD_EVENT_PRIORITY_NORMAL);
  if (r < 0) co_return unreachable(std::strerror(-r));

  // The name is part of what is encrypted: a credential of one purpose is not accepted for another.
  sd_json_variant* parameters = nullptr;
  r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR("name", SD_JSON_BUILD_STRING("key")),
                     SD_JSON_BUILD_PAIR("data", SD_JSON_BUILD_BASE64(key.data(), key.size())));
  ::explicit_bzero(key.data(), key.size());
  if (r >= 0) {
    sd_json_variant_sensitive(parameters);
    r = sd_varlink_invoke(link.get(), "io.systemd.Credentials.Encrypt", parameters);
  }
  sd_json_variant_unref(parameters);
  if (r < 0) co_return unreachable(std::strerror(-r));
  const auto answer = co_await completion;
  if (!answer.error.empty()) co_return unreachable(answer.error);

  if (auto made = makePath(directory_); !made) co_return made;
  auto directory = os::openDirectory(directory_);
  if (!directory) co_return std::unexpected(directory.error());
  co_return os::writeFile(directory->get(), keyFile(provider, baseUrl), answer.blob + "\n", 0600, true);
}

std::expected<void, Error> KeyVault::drop(std::uint64_t provider) const {
  const auto number = std::to_string(provider);
  for (const auto& name : namesBelow(directory_, number))
    if (name == number + ".cred" || name.starts_with(number + "-"))
      if (::unlink((directory_ + "/" + name).c_str()) < 0 && errno != ENOENT)
        return failed("forget the key of a provider");
  return {};
}

std::expected<void, Error> KeyVault::adopt(std::uint64_t provider, const std::string& baseUrl) const {
  const auto old = directory_ + "/" + std::to_string(provider) + ".cred";
  if (::rename(old.c_str(), (directory_ + "/" + keyFile(provider, baseUrl)).c_str()) == 0 || errno == ENOENT) return {};
  return failed("rename the key of a provider");
}

}  // namespace coffer::engine
