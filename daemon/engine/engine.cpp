#include "engine/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbus/names.hpp"
#include "engine/host_rules.hpp"
#include "engine/keep.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/sweep.hpp"
#include "engine/uid_clash.hpp"
#include "engine/views.hpp"
#include "model/actions.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"
#include "os/clock.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

std::vector<std::filesystem::path> folders(const char* kind) {
  return {std::filesystem::path("/usr/lib/cofferdam") / kind, std::filesystem::path("/etc/cofferdam") / kind};
}

// A file of the machine's administrator, as text; empty when it is not there.
std::string machineFile(const char* path, std::size_t limit) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text(limit, '\0');
  const auto got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// The secret that dummy keys are made from: made once, 32 random bytes.
std::expected<std::string, Error> machineSecret(const std::string& state) {
  auto directory = os::openDirectory(state);
  if (!directory) return std::unexpected(directory.error());
  auto secret = os::readBeneath(directory->get(), "secret", 64);
  if (secret && secret->size() == 32) return secret;
  std::string fresh(32, '\0');
  if (::getrandom(fresh.data(), fresh.size(), 0) != static_cast<ssize_t>(fresh.size()))
    return std::unexpected(Error{ErrorCode::Internal, "the kernel gave no random bytes"});
  if (auto written = os::writeFile(directory->get(), "secret", fresh, 0600, true); !written)
    return std::unexpected(written.error());
  return fresh;
}

}  // namespace

Engine::Engine(sd_event* event, sd_bus* bus)
    : bus_(bus),
      configuration_({"/etc/cofferdam/cofferd.toml", "/usr/lib/cofferdam/cofferd.toml"}),
      agents_(folders("agents"), ".toml",
              [](auto text, auto name, auto file) { return agents::readDescriptor(text, name, file); }),
      flows_(folders("flows"), ".toml",
             [](auto text, auto name, auto file) { return agents::readFlow(text, name, file); }),
      providers_(folders("providers"), ".toml",
                 [](auto text, auto name, auto file) { return agents::readProvider(text, name, file); }),
      prompts_(folders("prompts"), ".md",
               [](auto text, auto name, auto file) { return agents::PromptText::read(text, name, file); }),
      risky_(folders("risky"), ".toml",
             [](auto text, auto name, auto file) { return agents::readRisky(text, name, file); }) {
  context_.event = event;
  context_.bus = bus;
}

Engine::~Engine() = default;

std::expected<void, Error> Engine::start() {
  auto& places = context_.places;
  for (const auto& path : {places.state, places.keys(), places.work(), places.state + "/tasks",
                           places.state + "/projects", places.runtime, places.inputs()})
    if (auto made = makePath(path); !made) return made;
  for (const auto& path : {places.state, places.keys(), places.runtime})
    if (::chmod(path.c_str(), 0700) < 0)
      return std::unexpected(
          Error{ErrorCode::Internal, "cannot close " + path + " to others: " + std::strerror(errno)});
  auto secret = machineSecret(places.state);
  if (!secret) return std::unexpected(secret.error());
  context_.secret = std::move(*secret);

  auto store = store::Store::open(places.database(), os::now());
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  context_.store = store_.get();
  systemd_ = std::make_unique<sandbox::Systemd>(bus_);
  if (auto started = systemd_->start(); !started) return started;
  context_.systemd = systemd_.get();
  walls_ = std::make_unique<walls::WallsClient>();
  context_.walls = walls_.get();
  names_ = std::make_unique<NameService>(context_.event);
  context_.names = names_.get();
  canary_ = std::make_unique<Canary>(context_);
  systemCheck_ = std::make_unique<SystemCheck>(
      SystemCheck::Sources{context_, *canary_, configuration_, [this] { return configurationProblems(); }});
  keys_ = std::make_unique<KeyVault>(context_.event, places.keys());
  if (const auto known = store_->providers().list(std::nullopt))
    for (const auto& provider : *known)
      if (auto adopted = keys_->adopt(provider.id, provider.baseUrl); !adopted) return adopted;

  // A project has a base when its first snapshot is there; who asked for one that has none got no answer.
  if (const auto known = store_->projects().list(std::nullopt))
    for (const auto& project : *known)
      if (project.base.empty() && abandonProject(project)) abandoned_.push_back(project.id);

  readFiles();
  if (auto hello = walls_->hello(); !hello) {
    Error gone{ErrorCode::Environment,
               "coffer-walls does not answer (" + hello.error().message + "): systemctl status coffer-walls"};
    log::write(log::Level::Error, gone.message, {}, names::kMessageWallsGone);
    return std::unexpected(std::move(gone));
  }
  const auto wanted = configuration_.current().uidBase;
  auto ranges = store_->uids().useBase(wanted);
  if (!ranges) return std::unexpected(ranges.error());
  ranges_ = *ranges;
  context_.identities.use(ranges_);
  if (auto applied = applyRules(); !applied) return applied;

  scheduler_ = std::make_unique<Scheduler>(
      context_, *canary_, settings(),
      [this](const auto& before, const auto& after, const auto& events) { told(before, after, events); },
      [this](std::uint64_t task) {
        if (const auto waits = scheduler_->waiting(task))
          log::info("task " + std::to_string(task) + ": " + waits->words, {{names::kFieldTask, std::to_string(task)}});
        if (observer_) observer_->objectChanged(api::ObjectKind::Task, task);
      });
  goOn();
  return {};
}

Detached Engine::goOn() {
  co_await checkUids();
  co_await meetOwners();
  co_await sweep(context_);
  for (const auto id : std::exchange(abandoned_, {}))
    removeProjectFiles(id);
  isSwept_ = true;
  scheduler_->resume();
  for (auto& waiting : std::exchange(untilSwept_, {}))
    waiting.set({});
  co_await learnNames();
}

Async<Done> Engine::swept() {
  if (isSwept_) co_return Done{};
  Completion<Done> gone;
  untilSwept_.push_back(gone);
  co_return co_await gone;
}

void Engine::readFiles() {
  configuration_.reload();
  agents_.reload();
  flows_.reload();
  providers_.reload();
  prompts_.reload();
  risky_.reload();
  for (const auto& problem : configurationProblems())
    log::write(log::Level::Warning, problem, {{names::kFieldFile, problem.substr(0, problem.find(':'))}},
               names::kMessageConfiguration);
}

std::expected<void, Error> Engine::applyRules() {
  if (auto set = walls_->useUids(ranges_.first()); !set) return set;
  const auto urls = baseUrls();
  if (!urls) return std::unexpected(urls.error());
  std::vector<std::string> named;
  for (const auto& [name, file] : providers_.all())
    named.insert(named.end(), file.allowAddresses.begin(), file.allowAddresses.end());
  return applyHostRules(*walls_, machineFile("/etc/resolv.conf", 64 * 1024), *urls, named);
}

std::expected<void, Error> Engine::machineCanSeal() const {
  if (context_.obstacle) return std::unexpected(refusalOf(*context_.obstacle));
  if (const auto failed = firstFailed(kernelChecks(configuration_.current().acceptMissing)))
    return std::unexpected(refusalOf(*failed));
  return {};
}

void Engine::told(const model::Task& before, const model::Task& after, const std::vector<model::Event>& events) {
  const std::string id = std::to_string(after.id);
  if (before.state != after.state || before.parked.reason != after.parked.reason) {
    const std::string state(model::spell(after.state));
    auto message = "task " + id + " is " + state;
    if (after.parked.reason != model::Parked::No)
      message += ", parked: " + std::string(model::spell(after.parked.reason));
    const auto messageId = after.state == model::State::Failed || after.state == model::State::Cancelled
                               ? names::kMessageTaskEnded
                           : after.state == model::State::Landed ? names::kMessageTaskLanded
                           : before.id == 0                      ? names::kMessageTaskCreated
                           : model::needsPerson(after)           ? names::kMessageTaskWaits
                                                                 : std::string_view{};
    const auto commit = after.landed.empty() ? std::string{} : after.landed.back().commit;
    log::write(log::Level::Info, message,
               {{names::kFieldTask, id},
                {names::kFieldOwner, std::to_string(after.owner)},
                {names::kFieldState, state},
                {names::kFieldCommit, commit}},
               messageId);
  }
  if (!observer_) return;
  if (before.id == 0) observer_->objectAdded(api::ObjectKind::Task, after.id);
  for (const auto& event : events)
    observer_->event(eventView(after.id, event));
  observer_->taskChanged(after.id, after.sequence);
  if (before.bases != after.bases) observer_->objectChanged(api::ObjectKind::Project, after.project);
  if (after.deleted && !before.deleted) observer_->objectRemoved(api::ObjectKind::Task, after.id, {after.owner, false});
}

}  // namespace coffer::engine
