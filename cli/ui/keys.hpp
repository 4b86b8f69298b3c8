#pragma once

#include <ftxui/component/event.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::cli::ui {

/// Makes events of the bytes that a terminal sends: characters in UTF-8, control characters, sequences that begin with
/// Escape (ECMA-48), and the mouse as xterm tells of it. What is none of these is left out. A key that terminals name
/// in two ways has the one name that ftxui::Event's constants have.
class KeyReader {
 public:
  /// Events of these bytes and of what was kept of earlier ones.
  std::vector<ftxui::Event> take(std::string_view bytes);
  /// Bytes are kept that may be all there is: nothing followed them for a moment.
  std::vector<ftxui::Event> rest();
  /// Whether rest() would give something.
  [[nodiscard]] bool waits() const { return !kept_.empty(); }

 private:
  std::string kept_;
};

}  // namespace coffer::cli::ui
