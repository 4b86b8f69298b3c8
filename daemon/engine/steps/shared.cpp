#include <algorithm>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "dbus/names.hpp"
#include "engine/keep.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"
#include "os/log.hpp"

namespace coffer::engine {

namespace {

std::uint64_t machineMemory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::expected<void, Error> noteSize(const std::string& path, const std::string& name, std::uint64_t bytes) {
  if (auto made = makePath(path); !made) return made;
  auto directory = os::openDirectory(path);
  if (!directory) return std::unexpected(directory.error());
  return os::writeFile(directory->get(), name, std::to_string(bytes), 0600);
}

}  // namespace

sandbox::SliceLimits boxLimits(const agents::Configuration& configuration) {
  const auto memory = configuration.boxMemoryMib << 20U;
  return {memory ? memory : machineMemory() / 2, configuration.boxTasks};
}

sandbox::SliceLimits userLimits(const agents::Configuration& configuration) {
  const auto memory = configuration.userSliceMemoryMib << 20U;
  const auto tasks = configuration.userSliceTasks;
  return {memory ? memory : machineMemory() / 4 * 3,
          tasks ? tasks : placesOfUser(configuration) * (configuration.boxTasks + limits::kOwnProcesses)};
}

std::size_t placesOf(const agents::Configuration& configuration) {
  return configuration.tasksAtOnce ? configuration.tasksAtOnce : std::max(1U, std::thread::hardware_concurrency());
}

std::size_t placesOfUser(const agents::Configuration& configuration) {
  return configuration.userTasksAtOnce ? configuration.userTasksAtOnce : placesOf(configuration);
}

std::vector<sandbox::Bind> stores(const StepRun& run, bool withTask) {
  std::vector<sandbox::Bind> binds = {{run.context->places.projectObjects(run.project.id), "/in/base/objects"}};
  if (withTask) binds.push_back({run.context->places.taskObjects(run.task.id), "/in/task/objects"});
  return binds;
}

Async<std::expected<WorkerResult, Error>> runOwnWorker(StepRun& run, std::string suffix, std::string program,
                                                       std::string verb, Records request,
                                                       std::vector<sandbox::Bind> readOnly,
                                                       std::vector<sandbox::Bind> writable,
                                                       std::vector<InputFile> files) {
  WorkerRun worker;
  worker.files = std::move(files);
  worker.unit = run.unit(suffix);
  auto uid = run.context->uid(model::UidPart::Worker, run.task.id, worker.unit);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = run.context->identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());
  worker.slice = run.slice();
  worker.identity = *identity;
  worker.program = std::move(program);
  worker.verb = std::move(verb);
  worker.request = std::move(request);
  worker.readOnly = std::move(readOnly);
  worker.writable = std::move(writable);
  co_return co_await runWorker(*run.context->systemd, run.context->places, std::move(worker));
}

void logEnd(const StepRun& run, const std::string& unit, const std::vector<store::Refusal>& refused) {
  const auto known = run.context->store->runs().byUnit(unit);
  if (!known || !*known) return;
  const auto& [id, start, end] = **known;
  const auto task = std::to_string(run.task.id);
  log::write(log::Level::Info, "task " + task + ": the unit " + unit + " ended: " + end.result,
             {{names::kFieldTask, task},
              {names::kFieldRun, std::to_string(id)},
              {names::kFieldRole, start.role},
              {names::kFieldAgent, start.agent},
              {names::kFieldUnit, unit}},
             names::kMessageRunEnded);
  std::uint64_t count = 0;
  for (const auto& refusal : refused)
    count += refusal.count;
  if (count == 0) return;
  // Where to is what an agent wrote, and stays in the store.
  log::write(log::Level::Notice,
             "task " + task + ": " + std::to_string(count) + " tries of " + unit + " were refused the network",
             {{names::kFieldTask, task}, {names::kFieldUnit, unit}}, names::kMessageRefusal);
}

void addAuthor(Records& request, const StepRun& run) {
  request.add("author-name", run.project.authorName);
  request.add("author-email", run.project.authorEmail);
  // The time at which the step was opened: the same step done again makes the same commit.
  request.add("author-time", std::to_string(run.task.changed / 1'000'000) + " +0000");
}

void keepCommits(Records& request, const model::Task& task, const std::string& writerCommit) {
  request.add("second", writerCommit);
  for (const auto& base : task.bases)
    request.add("known", base);
}

Async<std::expected<std::string, Error>> ensureCheckout(StepRun& run, std::string commit, std::string branch) {
  const auto& places = run.context->places;
  // A checkout holds the branch it stands on and whose commits are made in it: tasks share it when all of that is the
  // same.
  const auto kind = model::sha256(branch + '\0' + run.project.authorName + '\0' + run.project.authorEmail);
  const auto name = commit + "-" + kind.substr(kind.find(':') + 1, 12);
  const auto path = places.checkouts(run.project.id) + "/" + name;
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) co_return path;

  Records request;
  request.add("commit", commit);
  if (!branch.empty()) request.add("branch", branch);
  request.add("alternate", "/store/base/objects");
  request.add("alternate", "/store/task/objects");
  request.add("user-name", run.project.authorName);
  request.add("user-email", run.project.authorEmail);
  // The tree keeps its worker's uid, which therefore belongs to the project and stays taken as long as that is there.
  WorkerRun worker;
  worker.unit = run.unit("base");
  auto uid = run.context->uid(model::UidPart::Worker, 0, "project-" + std::to_string(run.project.id) + "-" + name);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = run.context->identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());
  worker.slice = run.slice();
  worker.identity = *identity;
  worker.program = "coffer-repository";
  worker.verb = "checkout";
  worker.request = std::move(request);
  worker.readOnly = stores(run, false);
  auto made = co_await runWorker(*run.context->systemd, places, std::move(worker));
  if (!made) co_return std::unexpected(made.error());
  // Its size first: a checkout that nobody counts is worse than a size of none.
  auto sized = noteSize(places.checkoutSizes(run.project.id), name, made->report.number("bytes"));
  if (!sized) co_return std::unexpected(sized.error());
  auto kept = keepTree(made->output, "tree", places.checkouts(run.project.id), name);
  static_cast<void>(removeOutput(places, run.unit("base")));
  if (!kept) co_return std::unexpected(kept.error());
  co_return path;
}

Async<std::expected<void, Error>> checkoutCommit(StepRun& run, Session& session, sandbox::Identity identity,
                                                 std::string commit) {
  WorkerRun worker;
  worker.unit = run.unit("checkout");
  worker.slice = run.slice();
  worker.identity = identity;
  worker.program = "coffer-repository";
  worker.verb = "checkout";
  worker.request.add("commit", commit);
  worker.request.add("from", run.task.start());
  worker.request.add("update", "1");
  worker.request.add("user-name", run.project.authorName);
  worker.request.add("user-email", run.project.authorEmail);
  if (!run.task.branch.empty()) worker.request.add("branch", run.task.branch);
  worker.request.add("alternate", "/store/base/objects");
  worker.request.add("alternate", "/store/task/objects");
  worker.readOnly = stores(run, true);
  worker.writable = {{session.workspace(), "/out/tree"}};
  auto made = co_await runWorker(*run.context->systemd, run.context->places, std::move(worker));
  static_cast<void>(removeOutput(run.context->places, run.unit("checkout")));
  if (!made) co_return std::unexpected(made.error());
  co_return {};
}

}  // namespace coffer::engine
