#include "provider_key.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <format>

#include <fcntl.h>
#include <unistd.h>

#include "dbus/names.hpp"
#include "os/fd.hpp"

namespace coffer::cli {

namespace {

/// What the service takes, and what a pipe holds without anyone reading it.
constexpr std::size_t kKeyBytes = 16 * 1024;

}  // namespace

ProviderKey::ProviderKey(ProviderKey&& other) noexcept
    : key_(other.key_) {  // NOLINT(performance-move-constructor-init)
  // Copied and cleared: a short string keeps its text in itself when it is moved.
  explicit_bzero(other.key_.data(), other.key_.size());
  other.key_.clear();
}

ProviderKey::~ProviderKey() { explicit_bzero(key_.data(), key_.size()); }

sdbus::UnixFd ProviderKey::descriptor() const {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) throw sdbus::createError(errno, "Cannot make a pipe");
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  if (!writeAll(writing.get(), key_)) throw sdbus::createError(errno, "Cannot write to a pipe");
  return sdbus::UnixFd(reading.release(), sdbus::adopt_fd);
}

std::expected<ProviderKey, Failure> readKey(const Session& session, const std::string& provider) {
  const auto& host = session.options().host;
  if (!host.empty())
    return failure(ExitCode::Failed, "A key cannot be sent with -H; set it on that machine.",
                   std::format("ssh -t {} coffer provider add --help", shellWord(host)));
  auto text =
      session.terminal().input ? readSecret(std::format("Key of {} (not shown): ", provider)) : readInput(kKeyBytes);
  if (!text) return std::unexpected(text.error());
  while (text->ends_with('\n') || text->ends_with('\r') || text->ends_with(' '))
    text->pop_back();
  if (text->empty()) return usageFailure("There is no key on standard input.", "coffer provider add --help");
  if (text->find_first_of("\n\r") != std::string::npos)
    return usageFailure("A key is one line; there are more on standard input.");
  ProviderKey key(*text);
  explicit_bzero(text->data(), text->size());
  return key;
}

std::expected<ObjectEntry, Failure> chooseProvider(const Session& session, Connection& bus, const std::string& name,
                                                   Whose whose) {
  std::optional<ObjectEntry> found;
  for (auto& provider :
       session.during("Looking for the provider", [&] { return bus.manager().objects(names::kProvider); })) {
    if (textOf(provider.properties, "Name") != name) continue;
    const bool machine = valueOf<bool>(provider.properties, "Machine");
    const bool preferred = whose == Whose::Machine
                               ? machine
                               : !machine && valueOf<std::uint32_t>(provider.properties, "Owner") == getuid();
    if (!found || preferred) found = std::move(provider);
  }
  if (!found)
    return failure(ExitCode::NotFound, std::format("There is no provider \"{}\".", name),
                   session.command("provider list"));
  return std::move(*found);
}

}  // namespace coffer::cli
