#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/backend.hpp"
#include "api/value.hpp"

namespace coffer::api {

/// What a path of ours names. It says nothing about whether such an object exists.
struct Object {
  enum class Kind {
    Branch,  ///< a node that only leads to others
    Root,    ///< the service
    Task,
    Project,
    Provider,
    Agent,
    LogControl,
  };
  Kind kind = Kind::Branch;
  std::uint64_t id = 0;  ///< of a task, project or provider
  std::string name;      ///< of an agent

  /// The kind in the backend's words, for what belongs to someone.
  [[nodiscard]] std::optional<ObjectKind> owned() const;
  bool operator==(const Object&) const = default;
};

/// Nothing for a path we never have. Ids are plain decimals without leading zeros, so an object has exactly one path.
[[nodiscard]] std::optional<Object> objectAt(std::string_view path);

[[nodiscard]] ObjectPath pathOf(ObjectKind kind, std::uint64_t id);
[[nodiscard]] ObjectPath pathOfAgent(const std::string& name);

}  // namespace coffer::api
