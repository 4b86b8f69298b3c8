#include "notify/terminal.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coffer::notify {
namespace {

using testing::ElementsAre;
using testing::Optional;

std::optional<std::vector<std::string>> with(std::vector<std::string> environment,
                                             const std::set<std::string>& programs) {
  return terminalIn(environment, [&](const std::string& path) { return programs.contains(path); });
}

const std::vector<std::string> kWayland = {"PATH=/opt/bin:/usr/bin", "WAYLAND_DISPLAY=wayland-0", "TERMINAL=foot"};

TEST(TerminalIn, TakesTheFirstThatIsThere) {
  EXPECT_THAT(with(kWayland, {"/usr/bin/xdg-terminal-exec", "/usr/bin/foot", "/usr/bin/x-terminal-emulator"}),
              Optional(ElementsAre("/usr/bin/xdg-terminal-exec")));
  EXPECT_THAT(with(kWayland, {"/opt/bin/foot", "/usr/bin/foot", "/usr/bin/x-terminal-emulator"}),
              Optional(ElementsAre("/opt/bin/foot", "-e")));
  EXPECT_THAT(with(kWayland, {"/usr/bin/x-terminal-emulator"}),
              Optional(ElementsAre("/usr/bin/x-terminal-emulator", "-e")));
  EXPECT_EQ(with(kWayland, {"/usr/bin/bash"}), std::nullopt);
}

TEST(TerminalIn, TakesAPathAsItIsButNoneThatDependsOnWhereOneStands) {
  EXPECT_THAT(with({"DISPLAY=:0", "TERMINAL=/opt/kitty"}, {"/opt/kitty"}), Optional(ElementsAre("/opt/kitty", "-e")));
  EXPECT_EQ(with({"DISPLAY=:0", "TERMINAL=bin/kitty", "PATH=/usr"}, {"/usr/bin/kitty", "bin/kitty"}), std::nullopt);
  EXPECT_EQ(with({"DISPLAY=:0", "TERMINAL=kitty", "PATH=bin::."}, {"bin/kitty", "/kitty", "./kitty"}), std::nullopt);
}

TEST(TerminalIn, NeedsADisplay) {
  EXPECT_EQ(with({"PATH=/usr/bin", "TERMINAL=foot"}, {"/usr/bin/foot"}), std::nullopt);
  EXPECT_EQ(with({"PATH=/usr/bin", "TERMINAL=foot", "DISPLAY="}, {"/usr/bin/foot"}), std::nullopt);
}

TEST(TerminalIn, WithoutAPathLooksInTheUsualFolders) {
  EXPECT_THAT(with({"DISPLAY=:0"}, {"/usr/bin/x-terminal-emulator"}),
              Optional(ElementsAre("/usr/bin/x-terminal-emulator", "-e")));
}

}  // namespace
}  // namespace coffer::notify
