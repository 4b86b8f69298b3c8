#include "api/waits.hpp"

#include <algorithm>

#include "model/limits.hpp"

namespace coffer::api {

bool Waits::answer(Call& call, std::uint64_t task, std::uint64_t after, bool late) const {
  const auto view = backend_.task(task);
  if (!view) {
    call.fail(view.error());
    return true;
  }
  if (view->sequence <= after && !late) return false;
  call.answer(view->sequence, view->state, view->parked);
  return true;
}

void Waits::wait(const CallPointer& call, std::uint64_t afterSequence, std::uint64_t timeout) {
  const auto task = call->object().id;
  if (answer(*call, task, afterSequence, timeout == 0)) return;
  if (perUser_[call->caller.uid] >= limits::kWaitsPerUser)
    return call->fail({ErrorCode::Limit, "as many of your calls wait as may; end one of them first"});
  if (!watches_.add(call->sender()))
    return call->fail({ErrorCode::Limit, "too many connections wait or are subscribed; try again later"});
  ++perUser_[call->caller.uid];
  waiting_.push_front({.call = call, .task = task, .after = afterSequence, .deadline = {}});
  const auto place = waiting_.begin();
  place->deadline = os::EventSource::timer(loop_, std::min(timeout, limits::kWaitTime), [this, place] {
    answer(*place->call, place->task, place->after, true);
    end(place);
  });
}

void Waits::changed(std::uint64_t task) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto place = at++;
    if (place->task == task && answer(*place->call, task, place->after, false)) end(place);
  }
}

void Waits::gone(const std::string& sender) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto place = at++;
    if (place->call->sender() == sender) end(place);
  }
}

void Waits::end(Place place) {
  const auto call = std::move(place->call);
  if (const auto user = perUser_.find(call->caller.uid); user != perUser_.end() && --user->second == 0)
    perUser_.erase(user);
  waiting_.erase(place);
  watches_.remove(call->sender());
}

}  // namespace coffer::api
