#include "world.hpp"

#include <stdexcept>

namespace coffer::api::test {

void Client::listen() {
  const auto take = [](sd_bus_message* message, void* data, sd_bus_error*) {
    auto& self = *static_cast<Client*>(data);
    std::uint8_t type = 0;
    sd_bus_message_get_type(message, &type);
    const char* sender = sd_bus_message_get_sender(message);
    if (type != SD_BUS_MESSAGE_SIGNAL || std::string_view(sender) == "org.freedesktop.DBus") return 0;
    self.signals.push_back(std::string(sd_bus_message_get_interface(message)) + "." +
                           sd_bus_message_get_member(message));
    self.messages.push_back(Message::share(message));
    return 0;
  };
  ASSERT_GE(sd_bus_add_filter(bus(), filter_.out(), take, this), 0);
  ASSERT_GE(sd_bus_add_match(bus(), match_.out(), "type='signal'", nullptr, nullptr), 0);
}

World::World() {
  sd_event* raw = nullptr;
  if (sd_event_new(&raw) < 0) throw std::runtime_error("no loop");
  loop_.reset(raw);
  bus_ = private_.connect(raw);
  alice_ = client(kAlice);
  bob_ = client(kBob);
  backend_.tasks[17] = {
      .id = 17, .project = 7, .owner = kAlice, .title = "zlib: alice's title", .state = "writing", .sequence = 5};
  backend_.tasks[18] = {.id = 18, .project = 8, .owner = kBob, .title = "bob's", .state = "queued", .sequence = 6};
  backend_.projects[7] = {.id = 7, .name = "zlib", .owner = kAlice, .directory = "/home/alice/zlib"};
  backend_.projects[8] = {.id = 8, .name = "zlib", .owner = kBob, .directory = "/home/bob/zlib"};
  backend_.providers[3] = {.id = 3, .name = "mine", .owner = kAlice, .kind = "anthropic", .keyHint = "wxyz"};
  backend_.providers[4] = {.id = 4, .name = "ours", .machine = true, .kind = "anthropic", .keyHint = "abcd"};
  backend_.agentList = {{.name = "claude-code", .installed = true}};
}

void World::start(Bouncer bouncer) {
  const auto identify = [this](sd_bus*, const std::string& sender) -> std::optional<uid_t> {
    const auto found = uids_.find(sender);
    return found == uids_.end() ? std::nullopt : std::optional(found->second);
  };
  service_ = std::make_unique<Service>(loop_.get(), bus_.get(), backend_, authority_, identify, bouncer);
  ASSERT_GE(service_->start(), 0);
  ASSERT_GE(sd_bus_request_name(bus_.get(), std::string(names::kBus).c_str(), 0), 0);
}

std::unique_ptr<Client> World::client(uid_t uid) {
  auto made = std::make_unique<Client>(private_.connect(loop_.get()));
  uids_[made->name()] = uid;
  return made;
}

std::shared_ptr<std::optional<Answer>> World::send(Client& from, const std::string& path, std::string_view interface,
                                                   const char* member, const Fill& fill, bool interactive) {
  using Place = std::shared_ptr<std::optional<Answer>>;
  auto place = std::make_shared<std::optional<Answer>>();
  sd_bus_message* raw = nullptr;
  EXPECT_GE(sd_bus_message_new_method_call(from.bus(), &raw, std::string(names::kBus).c_str(), path.c_str(),
                                           std::string(interface).c_str(), member),
            0);
  const auto message = Message::adopt(raw);
  Writer writer(raw);
  if (fill) fill(writer);
  EXPECT_GE(writer.error(), 0);
  sd_bus_message_set_allow_interactive_authorization(raw, interactive ? 1 : 0);
  const auto take = [](sd_bus_message* reply, void* data, sd_bus_error*) {
    const std::unique_ptr<Place> where(static_cast<Place*>(data));
    Answer answer{.message = Message::share(reply), .error = {}, .text = {}};
    if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
      answer.error = error->name;
      answer.text = error->message == nullptr ? "" : error->message;
    }
    **where = std::move(answer);
    return 0;
  };
  EXPECT_GE(sd_bus_call_async(from.bus(), nullptr, raw, take, std::make_unique<Place>(place).release(), 10'000'000), 0);
  return place;
}

Answer World::call(Client& from, const std::string& path, std::string_view interface, const char* member,
                   const Fill& fill, bool interactive) {
  const auto place = send(from, path, interface, member, fill, interactive);
  until([&] { return place->has_value(); });
  return place->has_value() ? std::move(**place) : Answer{.message = {}, .error = "nothing", .text = {}};
}

void World::until(const std::function<bool()>& condition) {
  for (int turns = 0; !condition(); ++turns) {
    if (turns == 10'000 || sd_event_run(loop_.get(), 20'000'000) <= 0) {
      ADD_FAILURE() << "what was waited for did not come";
      return;
    }
  }
}

void World::settle(Client& who) {
  // A call to the service and back passes the bus behind everything the service sent before.
  call(who, root(), names::kPeer, "Ping");
  sd_bus_flush(bus_.get());
  call(who, root(), names::kPeer, "Ping");
}

}  // namespace coffer::api::test
