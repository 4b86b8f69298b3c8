#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/turn_command.hpp"
#include "engine/keep.hpp"
#include "engine/session.hpp"
#include "engine/shown_end.hpp"
#include "engine/step_run.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"
#include "os/clock.hpp"
#include "os/halt_point.hpp"

namespace coffer::engine {
namespace {

struct GateCommand {
  std::string text;
  std::string unit;
};

// The last part of a command's output: bytes that are moved, and told as they are.
std::string outputEnd(const std::string& path, std::size_t limit) {
  Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) < 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto want = std::min(size, limit);
  std::string bytes(want, '\0');
  const auto got = ::pread(file.get(), bytes.data(), want, static_cast<off_t>(size - want));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return size > limit ? leftOut(size - limit) + bytes : bytes;
}

std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = text.find('\n');
    result.append("    ").append(text.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

store::RunStart startOf(const StepRun& run, const GateCommand& command, std::uint32_t uid) {
  store::RunStart start;
  start.task = run.task.id;
  start.step = run.step.name;
  start.kind = "gate";
  start.role = "gate";
  start.round = run.step.round;
  start.attempt = run.step.attempt;
  start.unit = command.unit;
  start.uid = uid;
  start.started = os::now();
  return start;
}

// The end of a command; with the last one, in the same transaction, what was refused in all of them, so that neither
// counts again when the step is done again.
std::expected<void, Error> recordEnd(StepRun& run, const std::string& unit, const store::RunEnd& end,
                                     const std::vector<store::Refusal>& refused) {
  auto& store = *run.context->store;
  auto transaction = store.transaction();
  auto counted = store.runs().end(end);
  if (!counted) return std::unexpected(counted.error());
  if (*counted)
    for (const auto& refusal : refused)
      if (auto added = store.refusals().add(run.task.id, refusal); !added) return added;
  if (auto kept = transaction.finish(); !kept) return kept;
  if (*counted) logEnd(run, unit, refused);
  return {};
}

Async<std::expected<std::optional<sandbox::UnitEnd>, Error>> runCommand(StepRun& run, Session& session,
                                                                        const GateCommand& command,
                                                                        const sandbox::Identity& identity, bool began,
                                                                        std::uint64_t timeUs) {
  auto& context = *run.context;
  const auto name = command.unit + ".service";
  auto state = co_await context.systemd->state(name);
  if (!state) co_return std::unexpected(state.error());
  if (!state->loaded) {
    if (began) co_return std::nullopt;
    Records init;
    for (const char* argument : {"/bin/sh", "-c"})
      init.add("argv", argument);
    init.add("argv", command.text);
    for (const auto& [variable, value] : agents::sandboxEnvironment("/home/agent"))
      init.add("env", variable + "=" + value);
    init.add("cwd", "/src");
    auto in = writeInput(context.places, command.unit, identity, {{"command", init.serialize()}});
    if (!in) co_return std::unexpected(in.error());
    auto outputs = session.outputs(command.unit);
    if (!outputs) co_return std::unexpected(outputs.error());
    sandbox::AgentSpec spec;
    spec.sealed.name = command.unit;
    spec.sealed.slice = boxSlice(run.task.owner, run.task.id);
    spec.sealed.identity = identity;
    spec.sealed.command = {{"/usr/libexec/cofferdam/coffer-init.static"}};
    spec.sealed.limits.runtimeUs = timeUs;
    spec.sealed.in = *in;
    spec.sealed.readOnly = {{context.places.projectObjects(run.project.id), "/store/base/objects"},
                            {context.places.taskObjects(run.task.id), "/store/task/objects"}};
    spec.sealed.standardOutput = outputs->first;
    spec.sealed.standardError = outputs->first;  // one log, in the order in which it was written
    spec.namespacePath = session.namespacePath();
    spec.workspace = session.workspace();
    spec.home = session.directory("home-" + run.step.name);
    if (run.overtaken())
      co_return std::unexpected(Error{ErrorCode::Cancelled, "the task was decided otherwise before " + name});
    os::haltAt("start", command.unit);
    auto unit = std::make_shared<sandbox::Unit>(sandbox::agentUnit(spec));
    if (auto started = co_await context.systemd->startUnit(unit); !started) {
      co_await context.systemd->remove(name);
      co_return std::unexpected(started.error());
    }
  }
  co_return co_await context.systemd->waitForEnd(name);
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performGate(StepRun& run) {
  auto& context = *run.context;
  std::vector<GateCommand> commands;
  for (const auto* list : {&run.project.build, &run.project.test})
    for (const auto& text : *list)
      commands.push_back({text, run.unit("c" + std::to_string(commands.size() + 1))});

  // The owner may take the commands away while a task runs. Nothing that ran is not green.
  if (commands.empty())
    co_return std::unexpected(
        Error{ErrorCode::NoCommand, "the project " + run.project.name +
                                        " has no command any more that builds or tests it, so nothing could be "
                                        "checked: coffer project set " +
                                        run.project.name + " --test COMMAND, then coffer retry " +
                                        std::to_string(run.task.id)});
  auto checkout = co_await ensureCheckout(run, run.task.start(), run.task.branch);
  if (!checkout) co_return std::unexpected(checkout.error());
  const auto& configuration = run.settings.configuration->current();
  auto slices =
      co_await makeSlices(context, run.task.id, run.task.owner, boxLimits(configuration), userLimits(configuration));
  if (!slices) co_return std::unexpected(slices.error());
  auto uid = context.uid(model::UidPart::Sandbox, run.task.id, run.step.name);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = context.identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());

  SessionSpec spec;
  spec.task = run.task.id;
  spec.owner = run.task.owner;
  spec.run = run.step.name;
  spec.uid = *uid;
  spec.checkout = *checkout;
  spec.layer = "ws-" + run.step.name;
  spec.directories = {"home-" + run.step.name};
  spec.temporary = {"ws-" + run.step.name, "home-" + run.step.name};
  auto held = std::make_shared<Session>(context, spec);
  auto& session = *held;
  const auto fail = [&](const Error& error) -> Async<std::expected<StepOutcome, Error>> {
    co_await session.close();
    co_return std::unexpected(error);
  };
  if (auto opened = co_await session.open(); !opened) co_return co_await fail(opened.error());

  model::GateEnded fact;
  fact.step = run.step.name;
  fact.candidate = run.step.candidate;
  fact.green = true;
  ShownEnd log(limits::kLogShownBytes);
  std::string feedback;
  // The checkout is made once, before the first command begins; a command that began stands on it already.
  auto first = context.store->runs().byUnit(commands.front().unit);
  if (!first) co_return co_await fail(first.error());
  auto serving = begin(session.serve());
  std::expected<void, Error> prepared;
  if (!*first) prepared = co_await checkoutCandidate(run, session, *identity);
  if (auto served = co_await serving; prepared && !served) prepared = served;
  if (!prepared) co_return co_await fail(prepared.error());
  // The limit is the whole gate's: what is left of it is the next command's. A second is, so that there is an end to
  // tell of one that had none.
  std::uint64_t timeUs = configuration.gateMinutes * 60'000'000;
  const auto spend = [&](std::uint64_t started, std::uint64_t ended) {
    const auto spent = ended > started ? ended - started : 0;
    timeUs = std::max<std::uint64_t>(timeUs - std::min(timeUs, spent), 1'000'000);
  };
  for (const auto& command : commands) {
    auto record = context.store->runs().byUnit(command.unit);
    if (!record) co_return co_await fail(record.error());
    const bool began = record->has_value();
    fact.run = began ? (*record)->id : 0;
    sandbox::UnitEnd end;
    if (began && (*record)->end.ended) {
      end.result = (*record)->end.result;
      end.code = (*record)->end.code;
      end.status = (*record)->end.status;
      spend((*record)->start.started, (*record)->end.ended);
    } else {
      if (!began) {
        auto id = context.store->runs().begin(startOf(run, command, *uid));
        if (!id) co_return co_await fail(id.error());
        fact.run = *id;
      }
      auto ran = co_await runCommand(run, session, command, *identity, began, timeUs);
      if (!ran) {
        // Nothing that the command stands on is taken away while it may still run.
        if (auto gone = co_await context.systemd->remove(command.unit + ".service"); !gone)
          co_return std::unexpected(ran.error());
        co_return co_await fail(ran.error());
      }
      os::haltAt("end", command.unit);
      if (*ran)
        end = **ran;
      else
        end.result = "interrupted";
      store::RunEnd ended;
      ended.run = fact.run;
      ended.ended = end.endedUs ? end.endedUs : os::now();
      ended.result = end.result;
      ended.code = end.code;
      ended.status = end.status;
      ended.invocation = end.invocation;
      ended.text = command.text;
      std::vector<store::Refusal> refused;
      if (!end.success() || command.unit == commands.back().unit) refused = co_await session.refusals("gate");
      spend(end.startedUs, end.endedUs);
      if (auto noted = recordEnd(run, command.unit, ended, refused); !noted) co_return co_await fail(noted.error());
      os::haltAt("recorded", command.unit);
    }
    co_await context.systemd->remove(command.unit + ".service");
    static_cast<void>(removeInput(context.places, command.unit));
    if (end.result == "interrupted") {
      co_await session.close();
      StepOutcome interrupted;
      interrupted.fact = model::StepInterrupted{run.step.name};
      co_return interrupted;
    }
    const auto output = outputEnd(session.outputFile(command.unit, "out"), limits::kGateLogBytes);
    log.add("$ " + command.text + "\n" + output + (output.empty() || output.back() == '\n' ? "" : "\n"));
    if (end.success()) {
      log.add("[ok]\n");
      continue;
    }
    fact.green = false;
    std::string why = "exit status " + std::to_string(end.status);
    if (end.result == "timeout")
      why = "the gate did not end in " + std::to_string(configuration.gateMinutes) + " minutes";
    if (end.result == "oom-kill") why = "it used more memory than the task may";
    if (end.result == "signal") why = "it was killed by signal " + std::to_string(end.status);
    fact.environment = end.result == "timeout" || end.result == "oom-kill";
    log.add("[" + why + "]\n");
    fact.causes = "`" + command.text + "` failed: " + why;
    feedback = "The gate ran the project's commands on a fresh checkout of your commits. This one failed (" + why +
               "):\n\n    $ " + command.text + "\n\nThe end of its output:\n\n" +
               indented(outputEnd(session.outputFile(command.unit, "out"), limits::kFeedbackLogBytes));
    break;
  }

  if (auto made = makePath(context.places.logs(run.task.id)); !made) co_return co_await fail(made.error());
  if (auto logs = os::openDirectory(context.places.logs(run.task.id)))
    static_cast<void>(os::writeFile(logs->get(), run.step.name, log.text(), 0444));
  StepOutcome outcome;
  outcome.session = std::move(held);
  if (!feedback.empty()) {
    if (run.task.base != run.task.start())
      feedback += "\nThe branch has moved since the work began: the checkout is your commits on top of " +
                  run.task.base + ". Run `git merge " + run.task.base + "` in /src to have that there too.\n";
    fact.feedback = model::sha256(feedback);
    outcome.texts.push_back(std::move(feedback));
  }
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
