#include "private_bus.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace coffer::api::test {
namespace {

constexpr auto kConfiguration = R"xml(<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=%</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
  </policy>
</busconfig>
)xml";

}  // namespace

PrivateBus::PrivateBus() {
  std::string pattern = std::filesystem::temp_directory_path() / "cofferdam-bus-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory for the bus");
  directory_ = pattern;
  std::string text = kConfiguration;
  text.replace(text.find('%'), 1, (directory_ / "socket").string());
  const auto file = (directory_ / "bus.conf").string();
  std::ofstream(file) << text;

  std::array<int, 2> ends{};
  if (::pipe(ends.data()) < 0) throw std::runtime_error("no pipe");
  const auto configuration = "--config-file=" + file;
  const auto print = "--print-address=" + std::to_string(ends[1]);
  daemon_ = ::fork();
  if (daemon_ == 0) {
    // It says that it cannot have more descriptors; a start that fails is seen without its words.
    ::close(STDERR_FILENO);
    ::execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", configuration.c_str(), print.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  // It prints the address when it listens.
  for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';)
    address_ += c;
  ::close(ends[0]);
  if (address_.empty()) throw std::runtime_error("dbus-daemon does not start");
}

PrivateBus::~PrivateBus() {
  if (daemon_ > 0) {
    ::kill(daemon_, SIGTERM);
    ::waitpid(daemon_, nullptr, 0);
  }
  std::filesystem::remove_all(directory_);
}

Bus PrivateBus::connect(sd_event* loop) const {
  sd_bus* raw = nullptr;
  if (sd_bus_new(&raw) < 0) throw std::runtime_error("no bus");
  Bus bus(raw);
  const char* name = nullptr;
  if (sd_bus_set_address(raw, address_.c_str()) < 0 || sd_bus_set_bus_client(raw, 1) < 0 ||
      sd_bus_negotiate_fds(raw, 1) < 0 || sd_bus_start(raw) < 0 || sd_bus_get_unique_name(raw, &name) < 0 ||
      sd_bus_attach_event(raw, loop, SD_EVENT_PRIORITY_NORMAL) < 0)
    throw std::runtime_error("the private bus cannot be reached");
  return bus;
}

}  // namespace coffer::api::test
