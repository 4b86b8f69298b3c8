#include "engine/name_service.hpp"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/fd.hpp"

namespace coffer::engine {

struct NameService::Desk {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::uint64_t, std::function<void()>>> questions;
  std::vector<std::uint64_t> answered;
  bool running = false;
  bool closed = false;
  Fd bell;

  static void serve(const std::shared_ptr<Desk>& desk) {
    std::unique_lock lock(desk->mutex);
    while (true) {
      desk->changed.wait(lock, [&] { return desk->closed || !desk->questions.empty(); });
      if (desk->closed) return;
      auto [number, question] = std::move(desk->questions.front());
      desk->questions.pop_front();
      lock.unlock();
      question();
      lock.lock();
      desk->answered.push_back(number);
      static_cast<void>(::eventfd_write(desk->bell.get(), 1));
    }
  }
};

NameService::NameService(sd_event* event, std::chrono::microseconds patience)
    : event_(event), patience_(patience), desk_(std::make_shared<Desk>()) {
  desk_->bell.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  answers_ = os::EventSource::io(event, desk_->bell.get(), EPOLLIN, [this] { takeAnswers(); });
}

NameService::~NameService() {
  const std::lock_guard lock(desk_->mutex);
  desk_->closed = true;
  desk_->changed.notify_all();
}

std::expected<Completion<bool>, Error> NameService::post(std::function<void()> question) {
  const auto number = ++last_;
  {
    const std::lock_guard lock(desk_->mutex);
    if (desk_->questions.size() >= limits::kAccountQuestions)
      return std::unexpected(Error{ErrorCode::Busy,
                                   "the machine's name service has as many questions about users and groups as may "
                                   "wait; try again"});
    if (!desk_->running) {
      try {
        std::thread(&Desk::serve, desk_).detach();
      } catch (const std::system_error& error) {
        return std::unexpected(Error{ErrorCode::Environment, std::string("there is no thread: ") + error.what()});
      }
      desk_->running = true;
    }
    desk_->questions.emplace_back(number, std::move(question));
  }
  desk_->changed.notify_one();
  auto& pending = pending_[number];
  pending.timer = os::EventSource::timer(event_, static_cast<std::uint64_t>(patience_.count()),
                                         [this, number] { settle(number, false); });
  return pending.completion;
}

void NameService::settle(std::uint64_t number, bool answered) {
  const auto found = pending_.find(number);
  if (found == pending_.end()) return;
  const auto completion = found->second.completion;
  pending_.erase(found);
  completion.set(answered);
}

void NameService::takeAnswers() {
  eventfd_t rings = 0;
  static_cast<void>(::eventfd_read(desk_->bell.get(), &rings));
  std::vector<std::uint64_t> answered;
  {
    const std::lock_guard lock(desk_->mutex);
    answered.swap(desk_->answered);
  }
  for (const auto number : answered)
    settle(number, true);
}

Error NameService::silent() const {
  return {ErrorCode::Environment, "the machine's name service did not say who users and groups are within " +
                                      std::to_string(patience_.count() / 1'000'000) +
                                      " seconds: see /etc/nsswitch.conf, and try getent passwd and getent group"};
}

}  // namespace coffer::engine
