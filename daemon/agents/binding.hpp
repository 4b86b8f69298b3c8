#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace coffer::agents {

/// Which agent plays a role, on which model of which provider. Empty members are not said, and are looked for one level
/// up: task, project, user, machine.
struct Binding {
  std::string agent;
  std::string model;
  std::string provider;

  /// `AGENT[:MODEL][@PROVIDER]`, or with a slash for the colon, as text() writes it; a model may hold both. The error
  /// is a sentence.
  static std::expected<Binding, std::string> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  /// This binding with what it does not say taken from `below`. Model and provider belong to an agent: they are taken
  /// only when both mean the same one.
  [[nodiscard]] Binding over(const Binding& below) const;

  bool operator==(const Binding&) const = default;
};

}  // namespace coffer::agents
