#pragma once

#include <expected>
#include <optional>
#include <string>

#include "connection.hpp"
#include "session.hpp"

namespace coffer::cli {

/// A key on its way from the user to the service. Never printed, never in an argument; its memory is cleared when it
/// goes.
class ProviderKey {
 public:
  explicit ProviderKey(std::string key) : key_(std::move(key)) {}
  ProviderKey(ProviderKey&& other) noexcept;
  ProviderKey& operator=(ProviderKey&&) = delete;
  ProviderKey(const ProviderKey&) = delete;
  ProviderKey& operator=(const ProviderKey&) = delete;
  ~ProviderKey();

  /// A pipe with the key in it, as SetKey wants it.
  [[nodiscard]] sdbus::UnixFd descriptor() const;

 private:
  std::string key_;
};

/// Asks for the key without echo on a terminal, reads standard input otherwise. Refused with -H, which carries no
/// descriptors.
std::expected<ProviderKey, Failure> readKey(const Session& session, const std::string& provider);

/// Which of two providers of one name is meant.
enum class Whose { Own, Machine };

/// The provider of that name; without one of that kind the other.
std::expected<ObjectEntry, Failure> chooseProvider(const Session& session, Connection& bus, const std::string& name,
                                                   Whose whose = Whose::Own);

}  // namespace coffer::cli
