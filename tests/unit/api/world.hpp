#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/message.hpp"
#include "api/reader.hpp"
#include "api/service.hpp"
#include "api/writer.hpp"
#include "dbus/names.hpp"
#include "fakes.hpp"
#include "private_bus.hpp"

namespace coffer::api::test {

/// An answer: a message, or the error's name and text.
struct Answer {
  Message message;
  std::string error;
  std::string text;

  [[nodiscard]] bool ok() const { return error.empty(); }
  /// An error of ours by its short name, others in full.
  [[nodiscard]] std::string name() const {
    return error.starts_with(kErrorPrefix) ? error.substr(kErrorPrefix.size()) : error;
  }
  template <class... Ts>
  [[nodiscard]] std::tuple<Ts...> as() const {
    auto values = Reader::arguments<Ts...>(message.get());
    EXPECT_TRUE(values.has_value()) << error << ": " << text;
    return values ? *values : std::tuple<Ts...>{};
  }
};

/// Somebody on the bus, with the uid that the test gives their connection.
class Client {
 public:
  explicit Client(Bus bus) : bus_(std::move(bus)) {}
  [[nodiscard]] sd_bus* bus() const { return bus_.get(); }
  [[nodiscard]] std::string name() const {
    const char* name = nullptr;
    sd_bus_get_unique_name(bus_.get(), &name);
    return name;
  }
  /// Everything the bus delivered: "INTERFACE.MEMBER" of each signal.
  std::vector<std::string> signals;
  std::vector<Message> messages;
  /// Takes every signal the bus lets it have.
  void listen();

 private:
  Bus bus_;
  Slot filter_;
  Slot match_;
};

/// A service on a private bus, with a backend and a polkit of the test's own, and clients; all on one thread.
class World : public testing::Test {
 protected:
  World();
  void start(Bouncer bouncer = Bouncer());
  [[nodiscard]] std::unique_ptr<Client> client(uid_t uid);

  using Fill = std::function<void(Writer&)>;
  /// Sends and gives where the answer will be.
  std::shared_ptr<std::optional<Answer>> send(Client& from, const std::string& path, std::string_view interface,
                                              const char* member, const Fill& fill = nullptr, bool interactive = false);
  Answer call(Client& from, const std::string& path, std::string_view interface, const char* member,
              const Fill& fill = nullptr, bool interactive = false);
  /// Runs the loop until the condition holds; a test that waits for ever fails.
  void until(const std::function<bool()>& condition);
  /// Until everything sent before has arrived everywhere: the bus keeps the order of messages.
  void settle(Client& who);

  [[nodiscard]] static std::string taskPath(std::uint64_t id) { return pathOf(ObjectKind::Task, id).text; }
  [[nodiscard]] static std::string root() { return std::string(names::kRootPath); }
  Answer manager(Client& from, const char* member, const Fill& fill = nullptr, bool interactive = false) {
    return call(from, root(), names::kManager, member, fill, interactive);
  }
  static Fill options(Dictionary values = {}) {
    return [values](Writer& writer) { writer.append(values); };
  }

  PrivateBus private_;
  Loop loop_;
  Bus bus_;
  FakeBackend backend_;
  FakeAuthority authority_;
  std::map<std::string, uid_t> uids_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> alice_;
  std::unique_ptr<Client> bob_;
};

}  // namespace coffer::api::test
