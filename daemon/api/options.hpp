#pragma once

#include <expected>
#include <format>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/signature.hpp"
#include "api/value.hpp"
#include "dbus/error.hpp"

namespace coffer::api {

/// Options of a call, taken one by one. What is left at the end, or had another type, makes finish() refuse.
class Options {
 public:
  explicit Options(Dictionary values) : values_(std::move(values)) {}

  template <class T>
  std::optional<T> take(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    auto node = values_.extract(found);
    if (auto* value = std::get_if<T>(&node.mapped())) return std::move(*value);
    const auto given =
        std::visit([](const auto& value) { return signatureOf<std::decay_t<decltype(value)>>(); }, node.mapped());
    if (!fault_)
      fault_ = Error{ErrorCode::InvalidArgument,
                     std::format("the option \"{}\" is of the type {}, not {}", key, signatureOf<T>(), given)};
    return std::nullopt;
  }

  /// Refuses for a reason of the caller's of this class.
  void refuse(ErrorCode code, std::string message) {
    if (!fault_) fault_ = Error{code, std::move(message)};
  }

  [[nodiscard]] std::expected<void, Error> finish() const {
    if (fault_) return std::unexpected(*fault_);
    if (values_.empty()) return {};
    return std::unexpected(
        Error{ErrorCode::InvalidArgument,
              std::format("there is no option \"{}\" here; see the interface's description", values_.begin()->first)});
  }

 private:
  Dictionary values_;
  std::optional<Error> fault_;
};

}  // namespace coffer::api
