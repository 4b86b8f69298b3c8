#include "notify/notifier.hpp"

#include <format>
#include <utility>

#include "dbus/error.hpp"
#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "os/log.hpp"

namespace coffer::notify {

namespace {

/// When cofferd did not let us subscribe: soon enough for a person, seldom enough for a daemon in trouble.
constexpr std::uint64_t kAgainMicros = 60'000'000;

std::uint64_t now(sd_event* loop) {
  std::uint64_t micros = 0;
  sd_event_now(loop, CLOCK_MONOTONIC, &micros);
  return micros;
}

}  // namespace

Notifier::Notifier(sd_event* loop, sdbus::IConnection& system, sdbus::IConnection& session)
    : loop_(loop),
      system_(system),
      session_(session),
      terminal_(session),
      daemon_(system, std::string(names::kBus), [this](const std::string& owner) { onDaemon(owner); }),
      serverName_(session, std::string(kNotifications), [this](const std::string& owner) { onServer(owner); }) {}

void Notifier::clear() {
  if (!server_) return;
  for (const auto number : board_.onScreen())
    server_->close(number);
}

void Notifier::onDaemon(const std::string& owner) {
  daemonOwner_ = owner;
  feed_.reset();
  again_.reset();
  log::info(owner.empty() ? "cofferd is not there" : "cofferd is there");
  if (!owner.empty()) follow();
}

void Notifier::follow() {
  feed_ = std::make_unique<TaskFeed>(
      system_, daemonOwner_,
      TaskFeed::Told{.everything =
                         [this](const std::vector<TaskNews>& alive, const std::vector<TaskNews>& failed) {
                           board_.learnAll(alive, failed);
                           update();
                         },
                     .task =
                         [this](const TaskNews& news) {
                           board_.learn(news);
                           update();
                         },
                     .gone =
                         [this](std::uint64_t task) {
                           board_.forget(task);
                           update();
                         },
                     .failed =
                         [this](const sdbus::Error& error) {
                           log::warning("cofferd does not tell of tasks; it is asked again in a minute: " +
                                        error.getMessage());
                           again_ = os::EventSource::timer(loop_, kAgainMicros, [this] { follow(); });
                         }});
}

void Notifier::onServer(const std::string& owner) {
  server_.reset();
  board_.serverLeft();
  if (owner.empty()) return update();
  server_ = std::make_unique<NotificationServer>(
      session_, owner,
      NotificationServer::Told{.ready =
                                   [this] {
                                     board_.serverCame();
                                     update();
                                   },
                               .shown =
                                   [this](std::uint64_t task, auto number) {
                                     board_.shown(task, number);
                                     update();
                                   },
                               .closed =
                                   [this](std::uint32_t number) {
                                     board_.closed(number);
                                     update();
                                   },
                               .pressed = [this](std::uint32_t number, Button button,
                                                 const std::string& token) { onPressed(number, button, token); }});
}

void Notifier::onPressed(std::uint32_t number, Button button, const std::string& token) {
  const auto task = board_.taskOf(number);
  if (!task) return;
  const auto say = [this, id = *task](std::string sentence) {
    board_.say(id, std::move(sentence));
    update();
  };
  const auto call = [&](const std::string& method, const std::string& verb) {
    if (!feed_) return say("cofferd is not there: systemctl status cofferd");
    feed_->call(*task, method, [say, verb, id = *task](const sdbus::Error& error) {
      say(std::format("{}\ncoffer {} {}", model::visibleText(error.getMessage()), verb, id));
    });
  };
  switch (button) {
    case Button::Show:
      terminal_.show(*task, token,
                     [say, id = *task] { say(std::format("There is no terminal to open. Type: coffer show {}", id)); });
      break;
    case Button::Retry:
      call("Retry", "retry");
      break;
    case Button::Later:
      board_.putOff(*task, now(loop_));
      update();
      break;
  }
}

void Notifier::update() {
  auto orders = board_.orders(now(loop_));
  if (server_)
    for (const auto number : orders.close)
      server_->close(number);
  if (server_)
    for (const auto& show : orders.show)
      server_->show(show);
  timer_.reset();
  if (orders.wake) {
    const auto at = now(loop_);
    timer_ = os::EventSource::timer(loop_, *orders.wake > at ? *orders.wake - at : 0, [this] { update(); });
  }
  // Once for each thing there is to tell: a server that does not come is not asked for again and again.
  if (!server_ && board_.wantsServer() && askedFor_ != board_.news()) {
    askedFor_ = board_.news();
    serverName_.start([](const sdbus::Error& error) {
      log::info("no notification server can be started; notifications wait for one: " + error.getMessage());
    });
  }
}

}  // namespace coffer::notify
