#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/interface.hpp"

namespace coffer::api {

/// All interfaces the daemon answers for.
class Interfaces {
 public:
  void add(std::unique_ptr<Interface> interface) { all_.push_back(std::move(interface)); }

  [[nodiscard]] Interface* named(std::string_view name) const {
    for (const auto& each : all_)
      if (each->name() == name) return each.get();
    return nullptr;
  }
  /// The one of this kind of object; nothing for a branch. Each kind has exactly one of ours.
  [[nodiscard]] Interface* of(Object::Kind kind) const {
    for (const auto& each : all_)
      if (each->kind() == kind) return each.get();
    return nullptr;
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Interface>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<Interface>> all_;
};

}  // namespace coffer::api
