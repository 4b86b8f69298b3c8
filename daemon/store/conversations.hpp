#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

/// What belongs to a conversation outside the rules: its host uid. Session and turns are the task's
/// (model::Conversation).
struct ConversationRow {
  std::uint64_t id = 0;  ///< machine-wide, never reused
  std::uint64_t task = 0;
  std::string letter;
  std::uint32_t uid = 0;
  bool gone = false;  ///< its home was taken away
};

class Conversations {
 public:
  explicit Conversations(Database& database) : database_(database) {}

  /// The conversation of that letter, made with a uid of the sandboxes' part when there is none or it is gone.
  std::expected<ConversationRow, Error> get(std::uint64_t task, const std::string& letter, std::uint64_t now);
  std::expected<std::optional<ConversationRow>, Error> find(std::uint64_t task, const std::string& letter);
  std::expected<std::vector<ConversationRow>, Error> ofTask(std::uint64_t task);
  /// Its home is gone; the uid is released.
  std::expected<void, Error> gone(std::uint64_t id);

 private:
  Database& database_;
};

}  // namespace coffer::store
