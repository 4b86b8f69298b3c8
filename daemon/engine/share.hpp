#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "os/async.hpp"

namespace coffer::engine {

/// Lets each user do a number of things at a time; the next ones wait in order of arrival. One thread; it outlives its
/// places.
class Share {
 public:
  /// What enter() gives: held as long as it lives.
  class Place {
   public:
    Place() = default;
    Place(Share& share, std::uint32_t user) : share_(&share), user_(user) {}
    Place(Place&& other) noexcept : share_(std::exchange(other.share_, nullptr)), user_(other.user_) {}
    Place& operator=(Place&& other) noexcept {
      if (this != &other) {
        release();
        share_ = std::exchange(other.share_, nullptr);
        user_ = other.user_;
      }
      return *this;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { release(); }

    /// Gives it to whoever waits next, who goes on at once.
    void release() {
      if (auto* share = std::exchange(share_, nullptr)) share->leave(user_);
    }

   private:
    Share* share_ = nullptr;
    std::uint32_t user_ = 0;
  };

  explicit Share(std::size_t most) : most_(most) {}

  Async<Place> enter(std::uint32_t user) {
    auto& line = lines_[user];
    if (line.inside == most_) {
      Completion<Done> turn;
      line.waiting.push_back(turn);
      co_await turn;  // whoever left has kept the place for us
    } else {
      ++line.inside;
    }
    co_return Place(*this, user);
  }

 private:
  struct Line {
    std::size_t inside = 0;
    std::deque<Completion<Done>> waiting;
  };

  void leave(std::uint32_t user) {
    const auto found = lines_.find(user);
    if (found == lines_.end()) return;
    auto& line = found->second;
    if (!line.waiting.empty()) {
      const auto next = line.waiting.front();
      line.waiting.pop_front();
      next.set({});
    } else if (--line.inside == 0) {
      lines_.erase(found);
    }
  }

  std::size_t most_;
  std::map<std::uint32_t, Line> lines_;
};

}  // namespace coffer::engine
