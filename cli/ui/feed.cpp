#include "ui/feed.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <format>
#include <iterator>
#include <ranges>
#include <tuple>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "diff_text.hpp"
#include "model/limits.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "shown_digests.hpp"
#include "task_choice.hpp"
#include "ui/live_output.hpp"

namespace coffer::cli::ui {

namespace {

/// Ended tasks that are listed, the newest ones; the others are found with `coffer list --all`.
constexpr std::uint32_t kEndedTasks = 100;
/// Bytes asked for in one call: an order waits for no more than this, over ssh too.
constexpr std::uint32_t kPieceBytes = 256 * 1024;
/// A text that changes with every piece is not read anew for ever.
constexpr int kRestarts = 3;
/// How often a run that goes on is asked for what it printed, while that is on the screen.
constexpr std::chrono::seconds kLive{1};
/// A connection that was lost is tried again this often.
constexpr std::chrono::seconds kReconnect{2};
constexpr std::chrono::milliseconds kInterruptAgain{100};
/// Ends a call that is being waited for. Its own action everywhere else is to be ignored.
constexpr int kInterrupt = SIGURG;

void onInterrupt(int) {}

const char* wordOf(Page page) {
  switch (page) {
    case Page::Plan:
      return "plan";
    case Page::Diff:
      return "diff";
    case Page::Transcript:
      return "transcript";
    case Page::Gate:
      return "gate";
    default:
      return nullptr;
  }
}

/// What tells that a page's text is another one by now.
std::string stampOf(Page page, const Dictionary& task, const std::vector<Dictionary>& runs) {
  if (page == Page::Plan) return textOf(task, "PlanDigest");
  if (page == Page::Diff) return textOf(task, "WorkDigest");
  // A transcript may come some time after its run has ended.
  auto stamp = std::to_string(numberOf(task, "Sequence"));
  for (const auto& run : runs)
    if (numberOf(run, "Ended") != 0) stamp += std::format(" {}", numberOf(run, "Id"));
  return stamp;
}

/// The run whose output the page shows, while it goes on.
const Dictionary* goingOn(const Focus& focus, const std::vector<Dictionary>& runs) {
  if (focus.page != Page::Transcript && focus.page != Page::Gate) return nullptr;
  for (const auto& run : runs | std::views::reverse) {
    if (focus.run ? numberOf(run, "Id") != *focus.run : (textOf(run, "Kind") == "gate") != (focus.page == Page::Gate))
      continue;
    return numberOf(run, "Ended") == 0 ? &run : nullptr;
  }
  return nullptr;
}

}  // namespace

/// The text of the focused page while it is read.
struct Feed::Text {
  std::string what;
  std::string stamp;  ///< of the task when reading began
  std::uint64_t offset = 0;
  std::uint64_t taken = 0;  ///< bytes so far
  std::string digest;
  std::string before;  ///< the digest of what is shown already, or empty
  std::string rest;    ///< a line whose end has not come
  int restarts = 0;
  bool first = true;
  bool done = false;
  std::unique_ptr<LiveOutput> live;  ///< of the run, while it goes on
};

Feed::Feed(std::unique_ptr<Connection> bus, std::string host, std::function<void()> wake)
    : host_(std::move(host)),
      wake_(std::move(wake)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      bus_(std::move(bus)) {
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  sigaction(kInterrupt, &action, nullptr);
  // Every other signal is the business of another thread: one here would end a call.
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  sigdelset(&others, kInterrupt);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Feed::~Feed() {
  stop_ = true;
  poke();
  // Again and again, because one that comes right before a call begins to wait ends nothing.
  while (!ended_) {
    pthread_kill(thread_.native_handle(), kInterrupt);
    poll(nullptr, 0, static_cast<int>(kInterruptAgain.count()));
  }
  thread_.join();
}

void Feed::poke() const {
  const std::uint64_t one = 1;
  while (write(event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Feed::look(const Focus& focus) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = focus;
  }
  poke();
}

void Feed::act(Act act) {
  {
    const std::lock_guard lock(mutex_);
    acts_.push_back(std::move(act));
  }
  poke();
}

void Feed::remember(std::string digest) {
  {
    const std::lock_guard lock(mutex_);
    shown_.push_back(std::move(digest));
  }
  poke();
}

std::vector<Update> Feed::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(updates_, {});
}

void Feed::post(Update update) {
  {
    const std::lock_guard lock(mutex_);
    updates_.push_back(std::move(update));
  }
  wake_();
}

void Feed::run() {
  while (!stop_) {
    try {
      if (!bus_) reconnect();
      if (!bus_ || stop_) continue;
      if (step()) {
        bus_->process(std::chrono::milliseconds(0));
        continue;
      }
      const bool live = there_ && text_ && text_->live;
      bus_->process(live ? std::chrono::milliseconds(kLive) : std::chrono::milliseconds(-1), event_.get());
      if (live && text_) text_->done = false;
      std::uint64_t ignored = 0;
      static_cast<void>(read(event_.get(), &ignored, sizeof ignored));
    } catch (const sdbus::Error& error) {
      if (!stop_) failed(error);
    }
  }
  ended_ = true;
}

void Feed::failed(const sdbus::Error& error) {
  const auto failure = failureOf(error, std::nullopt, host_);
  // What cannot be read is not read again before something changes.
  tasksChanged_ = taskChanged_ = false;
  if (text_) text_->done = true;
  if (failure.exit != ExitCode::NoDaemon) {
    post(OutcomeUpdate{{}, failure});
    return;
  }
  there_ = subscribed_ = false;
  try {
    bus_->process(std::chrono::milliseconds(0));
    post(ServiceUpdate{false, "Waiting for cofferd ..."});
  } catch (const sdbus::Error&) {
    // Not the service is away but the bus.
    task_.reset();
    bus_.reset();
    watched_ = false;
    post(ServiceUpdate{
        false, host_.empty() ? "Waiting for the bus ..." : "The connection is lost; leave with q and begin again."});
  }
}

void Feed::reconnect() {
  // ssh might ask for a password in the middle of the screen, so another machine is not called again.
  pollfd wait{.fd = event_.get(), .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::milliseconds(kReconnect).count();
  if (poll(&wait, 1, host_.empty() ? static_cast<int>(patience) : -1) > 0) {
    std::uint64_t ignored = 0;
    static_cast<void>(read(event_.get(), &ignored, sizeof ignored));
  }
  if (stop_ || !host_.empty()) return;
  auto opened = Connection::open(host_, false);
  if (!opened) return;
  bus_ = std::move(*opened);
  there_ = true;
}

void Feed::subscribe() {
  if (!watched_) {
    bus_->watchService([this](bool there) {
      there_ = there;
      subscribed_ = false;
      if (!there) post(ServiceUpdate{false, "Waiting for cofferd ..."});
    });
    watched_ = true;
  }
  // First the signals, then the state: what happens in between is seen twice rather than never.
  bus_->manager().subscribe({}, [this](std::uint64_t task) {
    tasksChanged_ = true;
    if (task == focus_.task) taskChanged_ = true;
  });
  subscribed_ = true;
  tasksChanged_ = true;
  listed_.reset();
  const auto focus = std::exchange(focus_, {});
  refocus(focus);
  post(ServiceUpdate{true, {}});
}

bool Feed::step() {
  std::optional<Focus> focus;
  std::optional<Act> act;
  std::optional<std::string> shown;
  {
    const std::lock_guard lock(mutex_);
    focus = std::exchange(wanted_, {});
    if (!shown_.empty()) {
      shown = std::move(shown_.front());
      shown_.pop_front();
    } else if (!acts_.empty()) {
      act = std::move(acts_.front());
      acts_.pop_front();
    }
  }
  if (focus && *focus != focus_) refocus(*focus);
  if (shown) {
    ShownDigests::ofUser().remember(*shown, currentTime());
    return true;
  }
  if (act) {
    perform(*act);
    return true;
  }
  if (!there_) return false;
  if (!subscribed_) {
    subscribe();
    return true;
  }
  if (tasksChanged_) {
    readTasks();
    return true;
  }
  if (taskChanged_) {
    readTask();
    return true;
  }
  if (text_ && task_ && !text_->done) {
    if (text_->live)
      readLive();
    else
      readPiece();
    return true;
  }
  return false;
}

void Feed::refocus(const Focus& focus) {
  if (focus.task != focus_.task) task_.reset();
  focus_ = focus;
  text_.reset();
  if (wordOf(focus.page)) text_ = std::make_unique<Text>();
  taskChanged_ = focus.task != 0;
}

void Feed::readTasks() {
  tasksChanged_ = false;
  auto entries = allTasks(*bus_, {{"ended", sdbus::Variant(false)}});
  auto [ended, next] = bus_->manager().listTasks({{"ended", sdbus::Variant(true)}}, 0, kEndedTasks);
  std::ranges::move(ended, std::back_inserter(entries));
  // Everybody's changes are told, without a word about whose they are.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> listed;
  for (const auto& entry : entries)
    listed.emplace_back(numberOf(entry, "Id"), numberOf(entry, "Sequence"));
  if (listed_ == listed) return;
  listed_ = std::move(listed);
  TasksUpdate update;
  for (const auto& entry : entries)
    update.tasks.emplace_back(entry);
  post(std::move(update));
}

void Feed::readTask() {
  taskChanged_ = false;
  TaskUpdate update;
  update.task = focus_.task;
  try {
    if (!task_) task_ = bus_->task(bus_->manager().getTask(focus_.task));
    update.properties = task_->properties();
    update.runs = task_->listRuns();
    update.findings = task_->listFindings();
  } catch (const sdbus::Error& error) {
    // It was deleted, which the list of tasks tells.
    if (failureOf(error, focus_.task, host_).exit == ExitCode::NotFound) {
      text_.reset();
      return;
    }
    throw;
  }
  if (text_) {
    const auto* going = goingOn(focus_, update.runs);
    const auto run = going ? numberOf(*going, "Id") : 0;
    if (run != (text_->live ? text_->live->run() : 0)) {
      *text_ = {};
      if (going)
        text_->live =
            std::make_unique<LiveOutput>(run, focus_.page == Page::Gate ? std::string() : textOf(*going, "Agent"));
    }
    auto stamp = stampOf(focus_.page, update.properties, update.runs);
    if (!going && text_->done && text_->stamp != stamp) {
      const auto digest = text_->digest;
      *text_ = {};
      text_->before = digest;
    }
    text_->stamp = std::move(stamp);
  }
  post(std::move(update));
}

void Feed::readLive() {
  auto& text = *text_;
  bool more = false;
  TextUpdate update{focus_, text.first, true, false, {}, {}, {}};
  try {
    if (text.live->begin(*task_)) update.first = text.first = true;
    update.text = text.live->read(*task_, more);
  } catch (const sdbus::Error& error) {
    // It has just ended, which will be told.
    if (failureOf(error, focus_.task, host_).exit == ExitCode::NoDaemon) throw;
  }
  update.late = text.live->late();
  text.done = !more;
  if (update.text.empty() && !text.first) return;
  text.first = false;
  post(std::move(update));
}

void Feed::readPiece() {
  auto& text = *text_;
  const std::string what = wordOf(focus_.page);
  Dictionary options;
  if (focus_.run) options.emplace("run", sdbus::Variant(*focus_.run));
  std::string piece;
  std::uint64_t next = 0;
  std::string digest;
  try {
    std::tie(piece, next, digest) = task_->readText(what, text.offset, kPieceBytes, options);
  } catch (const sdbus::Error& error) {
    auto failure = failureOf(error, focus_.task, host_);
    if (failure.exit == ExitCode::NoDaemon) throw;
    text.done = true;
    post(TextUpdate{focus_, true, true, false, {}, {}, model::visibleText(failure.message)});
    return;
  }
  // The text changed between two pieces: pieces of two texts are no text.
  if (text.offset != 0 && digest != text.digest) {
    if (text.restarts == kRestarts) return takePiece({}, true, true);
    const auto stamp = text.stamp;
    const auto restarts = text.restarts + 1;
    text = {};
    text.stamp = stamp;
    text.restarts = restarts;
    return;
  }
  text.digest = digest;
  if (text.offset == 0 && digest == text.before) {
    text.done = true;
    return;
  }
  text.taken += piece.size();
  const bool last = next <= text.offset;
  const bool cut = !last && text.taken > limits::kLogShownBytes;
  takePiece(piece, last || cut, cut);
  text.offset = next;
}

void Feed::takePiece(const std::string& piece, bool last, bool cut) {
  auto& text = *text_;
  text.rest += piece;
  // Only whole lines, so that a carriage return is seen together with the line feed it belongs to.
  const auto end = last ? text.rest.size() : text.rest.rfind('\n') + 1;
  TextUpdate update{focus_, text.first, last, cut, {}, text.digest, {}};
  const auto whole = std::string_view(text.rest).substr(0, end);
  update.text = focus_.page == Page::Diff ? visibleDiff(whole) : model::visibleText(whole);
  text.rest.erase(0, end);
  text.first = false;
  text.done = last;
  post(std::move(update));
}

void Feed::carryOut(Connection& bus, const Act& act) {
  const auto task = bus.task(bus.manager().getTask(act.task));
  auto options = changeOptions();
  if (act.action == "accept-plan") {
    task->acceptPlan(act.digest, options);
  } else if (act.action == "accept-work") {
    if (!act.text.empty()) options.emplace("branch", sdbus::Variant(act.text));
    task->acceptWork(act.digest, options);
  } else if (act.action == "reply") {
    task->reply(act.text, options);
  } else if (act.action == "retry") {
    task->retry(options);
  } else if (act.action == "cancel") {
    task->cancel(options);
  } else if (act.action == "delete") {
    task->erase(options);
  }
}

void Feed::perform(const Act& act) {
  OutcomeUpdate outcome{act, {}};
  try {
    carryOut(*bus_, act);
  } catch (const sdbus::Error& error) {
    outcome.failure = failureOf(error, act.task, host_);
  }
  post(std::move(outcome));
  tasksChanged_ = taskChanged_ = true;
}

}  // namespace coffer::cli::ui
