#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::collector {

/// What an agent left in /task/out. Only the known names are looked at; whatever is not a plain file within the limits
/// is refused with a sentence, and no other file suffers from it.
class Exchange {
 public:
  /// Reads everything at once. A folder that is not there is an empty one.
  static Exchange read(const std::string& folder);

  /// The bytes, or nullptr when the agent left none or it was refused.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  /// Why a file was not read: empty when it was, or when there was none.
  [[nodiscard]] std::string_view refusal(std::string_view name) const;
  /// (name, sentence)
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& refusals() const { return refusals_; }

 private:
  std::map<std::string, std::string, std::less<>> files_;
  std::map<std::string, std::string, std::less<>> refusals_;
};

}  // namespace coffer::collector
