#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace coffer::api {

/// What somebody does with a member.
enum class Operation { Call, Get, Set };

/// What it takes: a polkit action on one's own, and one on what belongs to another user or to the machine. An empty
/// action means that whoever may see the object may do it.
struct Access {
  std::string_view own;
  std::string_view other;
};

struct Entry {
  Operation operation;
  std::string_view interface;
  std::string_view member;  ///< "*" in a Get entry: all properties of the interface
  Access access;
};

/// Decides what every member of every interface takes, from one table. What is not in the table is denied, so a new
/// member works only after somebody thought about who may use it.
class Bouncer {
 public:
  /// Of the whole service.
  Bouncer();
  explicit Bouncer(std::span<const Entry> table) : table_(table) {}

  [[nodiscard]] std::optional<Access> access(Operation operation, std::string_view interface,
                                             std::string_view member) const;
  [[nodiscard]] std::span<const Entry> table() const { return table_; }

 private:
  std::span<const Entry> table_;
};

}  // namespace coffer::api
