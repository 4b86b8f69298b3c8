#include <fcntl.h>
#include <unistd.h>

#include "engine/step_run.hpp"
#include "engine/sweep.hpp"
#include "engine/unit_input.hpp"
#include "model/step.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

bool ofTask(const std::string& name, std::uint64_t task) {
  return name == taskImage(task) || name == outputImage(task) || name.starts_with(taskImage(task) + "-") ||
         name.starts_with("coffer-" + std::to_string(task) + "-");
}

std::expected<void, Error> removeFrom(const std::string& directory, const std::string& name) {
  auto opened = os::openDirectory(directory);
  if (!opened) {
    if (opened.error().code == ErrorCode::NotFound) return {};
    return std::unexpected(opened.error());
  }
  return os::removeTree(opened->get(), name);
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performCleanUp(StepRun& run) {
  auto& context = *run.context;
  std::expected<void, Error> result;
  const auto note = [&result](const std::expected<void, Error>& outcome) {
    if (!outcome && result) result = outcome;
  };
  // Units first: what runs holds the mounts. A slice takes everything in it along.
  auto units = co_await context.systemd->list("coffer-" + std::to_string(run.task.id) + "-*");
  if (!units) co_return std::unexpected(units.error());
  for (const auto& unit : *units)
    if (unit != run.step.name + ".service") note(co_await context.systemd->remove(unit));
  for (const auto& slice : {boxSlice(run.task.owner, run.task.id), taskSlice(run.task.owner, run.task.id)})
    note(co_await context.systemd->remove(slice));

  auto standing = context.walls->list();
  if (!standing) co_return std::unexpected(standing.error());
  // Workspaces are laid over images, so images go last.
  for (const auto kind : {walls::Kind::Netns, walls::Kind::Workspace, walls::Kind::Source, walls::Kind::Image}) {
    for (const auto& [what, name] : *standing) {
      if (what != kind || !ofTask(name, run.task.id)) continue;
      if (kind == walls::Kind::Netns) note(context.walls->removeNetns(name));
      if (kind == walls::Kind::Workspace) note(context.walls->unmountWorkspace(name));
      if (kind == walls::Kind::Source) note(context.walls->detachSource(name));
      if (kind == walls::Kind::Image) note(context.walls->unmountImage(name));
    }
  }
  const auto directory = context.places.task(run.task.id);
  for (const char* file : {"image", "image.new", "output.image", "output.image.new", "mounted", "lost", "notice"})
    note(removeFrom(directory, file));
  const auto prefix = "coffer-" + std::to_string(run.task.id) + "-";
  for (const auto& name : namesBelow(context.places.inputs(), prefix))
    note(removeInput(context.places, name));
  for (const auto& name : namesBelow(context.places.work(), prefix))
    note(removeOutput(context.places, name));
  if (run.step.kind == model::StepKind::Erase)
    note(removeFrom(context.places.state + "/tasks", std::to_string(run.task.id)));
  // What a step took in after its task was cancelled and the project removed belongs to nobody and counts for nobody.
  if (run.project.removed) {
    const auto project = std::to_string(run.project.id);
    note(removeFrom(context.places.state + "/projects", project));
    if (result) context.releaseUids(0, "project-" + project + "-");
  }
  if (!result) co_return std::unexpected(result.error());
  if (auto conversations = context.store->conversations().ofTask(run.task.id))
    for (const auto& conversation : *conversations) {
      // Its uid is free once the store says so, and is announced to the machine no longer than that.
      context.identities.withdraw(conversation.uid);
      static_cast<void>(context.store->conversations().gone(conversation.id));
    }
  context.releaseUids(run.task.id);
  if (run.step.kind == model::StepKind::Erase)
    if (auto erased = context.store->tasks().erase(run.task.id); !erased) co_return std::unexpected(erased.error());

  StepOutcome outcome;
  outcome.fact = model::CleanedUp{run.step.name};
  co_return outcome;
}

}  // namespace coffer::engine
