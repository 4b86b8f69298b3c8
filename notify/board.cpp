#include "notify/board.hpp"

#include <algorithm>
#include <utility>

#include "notify/limits.hpp"

namespace coffer::notify {

std::optional<Bubble> Board::Entry::bubble() const {
  auto result = wanted;
  if (result && !sentence.empty()) result->body += "\n" + sentence;
  return result;
}

bool Board::Entry::due() const {
  const auto now = bubble();
  if (!now || sending || quietUntil != 0 || told == now) return false;
  // Other buttons on what is shown are worth an update; on what was closed they are no reason to come again.
  return !told || number != 0 || told->summary != now->summary || told->body != now->body;
}

void Board::set(Entry& entry, const TaskNews& news) {
  entry.ended = news.ended;
  if (entry.wanted == news.bubble) return;
  entry.wanted = news.bubble;
  entry.sentence.clear();
  entry.quietUntil = 0;
  entry.since = ++turn_;
  // A task that went on and waits again is news, also when the words are the same.
  if (!entry.wanted) entry.told.reset();
}

void Board::learn(const TaskNews& news) {
  const auto found = entries_.find(news.id);
  if (found != entries_.end()) return set(found->second, news);
  if (!news.ended) set(entries_[news.id], news);
}

void Board::learnAll(const std::vector<TaskNews>& alive, const std::vector<TaskNews>& failed) {
  const auto in = [](const std::vector<TaskNews>& list, std::uint64_t task) {
    return std::ranges::find(list, task, &TaskNews::id) != list.end();
  };
  std::vector<std::uint64_t> over;
  for (const auto& [task, entry] : entries_)
    if (!in(alive, task) && !in(failed, task)) over.push_back(task);
  for (const auto task : over)
    forget(task);
  for (const auto& news : alive)
    learn(news);
  for (const auto& news : failed)
    // What has been told is not told again with other words.
    if (const auto found = entries_.find(news.id); found != entries_.end() && !found->second.ended)
      set(found->second, news);
}

void Board::forget(std::uint64_t task) {
  if (const auto found = entries_.find(task); found != entries_.end())
    set(found->second, {.id = task, .ended = true, .bubble = std::nullopt});
}

void Board::serverCame() {
  serverLeft();
  server_ = true;
}

void Board::serverLeft() {
  server_ = false;
  for (auto& [task, entry] : entries_) {
    if (entry.number != 0 || entry.sending) entry.told.reset();
    entry.number = 0;
    entry.sending = false;
  }
}

void Board::shown(std::uint64_t task, std::optional<std::uint32_t> number) {
  const auto found = entries_.find(task);
  if (found == entries_.end()) return;
  found->second.sending = false;
  if (number) found->second.number = *number;
}

void Board::closed(std::uint32_t number) {
  for (auto& [task, entry] : entries_)
    if (entry.number == number) entry.number = 0;
}

void Board::putOff(std::uint64_t task, std::uint64_t now) {
  if (const auto found = entries_.find(task); found != entries_.end())
    found->second.quietUntil = now + limits::kNotificationLater;
}

void Board::say(std::uint64_t task, std::string sentence) {
  const auto found = entries_.find(task);
  if (found == entries_.end()) return;
  auto& entry = found->second;
  entry.sentence = std::move(sentence);
  entry.told.reset();
  entry.since = ++turn_;
}

std::optional<std::uint64_t> Board::taskOf(std::uint32_t number) const {
  for (const auto& [task, entry] : entries_)
    if (entry.number == number && number != 0) return task;
  return std::nullopt;
}

bool Board::wantsServer() const {
  return !server_ && std::ranges::any_of(entries_, [](const auto& each) { return each.second.due(); });
}

std::vector<std::uint32_t> Board::onScreen() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [task, entry] : entries_)
    if (entry.number != 0) numbers.push_back(entry.number);
  return numbers;
}

bool Board::take(std::uint64_t now) {
  if (taken_ == 0) takenSince_ = now;
  const auto back = std::min((now - takenSince_) / limits::kNotificationTime, taken_);
  taken_ -= back;
  takenSince_ += back * limits::kNotificationTime;
  if (taken_ == 0) takenSince_ = now;
  if (taken_ == limits::kNotificationBurst) return false;
  ++taken_;
  return true;
}

Orders Board::orders(std::uint64_t now) {
  Orders orders;
  const auto wakeAt = [&](std::uint64_t when) { orders.wake = std::min(orders.wake.value_or(when), when); };
  std::vector<std::pair<std::uint64_t, std::uint64_t>> due;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto& [task, state] = *entry;
    if (state.quietUntil != 0 && now >= state.quietUntil) {
      state.quietUntil = 0;
      state.told.reset();
      state.since = ++turn_;
    }
    if (state.quietUntil != 0) wakeAt(state.quietUntil);
    if ((!state.wanted || state.quietUntil != 0) && !state.sending && state.number != 0) {
      orders.close.push_back(state.number);
      state.number = 0;
    }
    if (state.due()) due.emplace_back(state.since, task);
    const bool over = state.ended && !state.wanted && !state.sending;
    entry = over ? entries_.erase(entry) : std::next(entry);
  }
  if (!server_) return orders;
  std::ranges::sort(due);
  for (const auto& [since, task] : due) {
    if (!take(now)) {
      wakeAt(takenSince_ + limits::kNotificationTime);
      break;
    }
    auto& entry = entries_.at(task);
    entry.told = entry.bubble();
    entry.sending = true;
    orders.show.push_back({.task = task, .replaces = entry.number, .bubble = *entry.told});
  }
  return orders;
}

}  // namespace coffer::notify
