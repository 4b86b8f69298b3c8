#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

/// Who serves models, without the key: that rests encrypted in a file of its own.
struct Provider {
  std::uint64_t id = 0;
  std::string name;
  std::uint32_t owner = 0;  ///< uid; 0 for the machine's
  bool machine = false;
  std::string kind;
  std::string baseUrl;
  bool hasKey = false;
  std::string keyHint;
  std::string problem;
  std::vector<std::uint32_t> users;   ///< the machine's: who may spend it
  std::vector<std::uint32_t> groups;  ///< likewise
};

class Providers {
 public:
  explicit Providers(Database& database) : database_(database) {}

  /// Gives the id, never reused. Errors: NameTaken.
  std::expected<std::uint64_t, Error> add(const Provider& provider);
  /// Another base URL. Whether it was another: then the key no longer counts as present. Errors: UnknownObject.
  std::expected<bool, Error> setBaseUrl(std::uint64_t id, const std::string& baseUrl);
  std::expected<void, Error> setKeyPresent(std::uint64_t id, bool present, const std::string& hint);
  std::expected<void, Error> setSpenders(std::uint64_t id, const std::vector<std::uint32_t>& users,
                                         const std::vector<std::uint32_t>& groups);
  std::expected<void, Error> remove(std::uint64_t id);

  /// Errors: UnknownObject.
  std::expected<Provider, Error> get(std::uint64_t id);
  /// Also one that was removed, without who might spend its key.
  std::expected<Provider, Error> former(std::uint64_t id);
  /// This uid's and the machine's, or everybody's.
  std::expected<std::vector<Provider>, Error> list(std::optional<std::uint32_t> owner);

 private:
  void readSpenders(Provider& provider);
  void refuseUnchanged(std::uint64_t id);

  Database& database_;
};

}  // namespace coffer::store
