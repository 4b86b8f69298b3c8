#include <algorithm>
#include <cctype>
#include <utility>

#include <sys/statvfs.h>

#include "agents/binding.hpp"
#include "agents/turn_brief.hpp"
#include "agents/turn_command.hpp"
#include "engine/accounts.hpp"
#include "engine/image_mounts.hpp"
#include "engine/keep.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "engine/unit_input.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"
#include "os/clock.hpp"
#include "os/halt_point.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

using model::Role;
using model::TurnKind;
using model::TurnOutcome;

std::string lower(std::string text) {
  for (auto& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What one turn is made of, looked up before anything of it exists; copies, because a turn outlives a reload.
struct TurnPlan {
  std::optional<agents::Descriptor> descriptor;
  agents::Binding binding;
  std::optional<store::Provider> provider;
  std::optional<agents::ProviderFile> providerFile;
  std::string letter;
  std::uint64_t conversation = 0;
  std::uint32_t uid = 0;
  std::string session;
  agents::TurnCommand command;
  agents::TurnBrief brief;
  std::string prompt;
};

// The machine's key is spent by whom its list names; the list is empty at first.
bool maySpend(const store::Provider& provider, std::uint32_t owner) {
  return !provider.machine || holds({provider.users, provider.groups}, owner);
}

bool serves(const agents::ProviderFile& file, const agents::Descriptor& descriptor) {
  for (const auto wanted : descriptor.providers)
    for (const auto kind : file.kinds)
      if (kind == wanted) return true;
  return false;
}

bool needsProvider(const agents::Descriptor& descriptor) {
  return !descriptor.providers.empty() && descriptor.providers.front() != agents::ProviderKind::None;
}

std::expected<void, Error> chooseProvider(const StepRun& run, TurnPlan& plan) {
  if (!needsProvider(*plan.descriptor)) return {};
  auto providers = run.context->store->providers().list(run.task.owner);
  if (!providers) return std::unexpected(providers.error());
  // Their own come before the machine's.
  std::ranges::stable_sort(*providers, {}, [](const store::Provider& provider) { return provider.machine; });
  std::string notTheirs;
  for (const auto& provider : *providers) {
    if (!plan.binding.provider.empty() && provider.name != plan.binding.provider) continue;
    const auto* file = run.settings.providers->find(provider.kind);
    if (!file || !serves(*file, *plan.descriptor)) continue;
    if (!provider.hasKey) continue;
    if (!maySpend(provider, run.task.owner)) {
      notTheirs = provider.name;
      continue;
    }
    plan.provider = provider;
    plan.providerFile = *file;
    return {};
  }
  if (!notTheirs.empty())
    return std::unexpected(Error{ErrorCode::NoProvider, "the key of " + notTheirs +
                                                            " is the machine's, and its owner is not among those who "
                                                            "may spend it: an administrator adds a user with coffer "
                                                            "provider allow"});
  if (!plan.binding.provider.empty())
    return std::unexpected(Error{ErrorCode::NoProvider, "the provider " + plan.binding.provider +
                                                            " is not there, has no key, or cannot serve " +
                                                            plan.descriptor->title + ": coffer provider list"});
  return std::unexpected(Error{ErrorCode::NoProvider, "there is no provider with a key for " + plan.descriptor->title +
                                                          ": add one with coffer provider add"});
}

std::uint64_t turnMicros(const StepRun& run) {
  return (run.trial ? run.trial->minutes : run.settings.configuration->current().turnMinutes) * 60'000'000;
}

// `forgotten`: the conversation's home is gone, so the agent begins anew.
std::expected<TurnPlan, Error> planTurn(StepRun& run, bool forgotten = false) {
  TurnPlan plan;
  plan.letter = run.step.conversation;
  const auto role = model::bindingRole(run.task.flow, run.step.role);
  const auto bound = run.task.agents.find(role);
  auto binding = agents::Binding::parse(bound == run.task.agents.end() ? "" : bound->second);
  if (!binding) return std::unexpected(Error{ErrorCode::NoAgent, binding.error()});
  plan.binding = *binding;
  if (const auto* known = run.settings.agents->find(plan.binding.agent)) plan.descriptor = *known;
  if (!plan.descriptor)
    return std::unexpected(
        Error{ErrorCode::NoAgent, "there is no agent called " + plan.binding.agent + ": coffer agent list"});
  if (auto chosen = chooseProvider(run, plan); !chosen) return std::unexpected(chosen.error());

  const auto known = run.task.conversations.find(plan.letter);
  if (known != run.task.conversations.end() && !forgotten) plan.session = known->second.session;
  auto conversation = run.context->store->conversations().get(run.task.id, plan.letter, os::now());
  if (!conversation) return std::unexpected(conversation.error());
  plan.conversation = conversation->id;
  plan.uid = conversation->uid;

  agents::TurnInput input;
  input.model = plan.binding.model;
  input.endpoint = "http://127.0.0.1:4180";
  input.dummyKey = run.context->dummyKey(run.task.id, plan.letter);
  input.session = plan.session;
  input.home = "/home/agent";
  auto command = agents::buildTurnCommand(*plan.descriptor, input);
  if (!command) return std::unexpected(command.error());
  plan.command = std::move(*command);

  auto& brief = plan.brief;
  brief.task = run.task.id;
  brief.title = run.task.title;
  brief.role = run.step.role;
  brief.kind = run.step.turn;
  brief.round = run.step.round;
  brief.newConversation = plan.session.empty();
  brief.base = run.step.base.empty() ? run.task.base : run.step.base;
  brief.branch = run.task.branch;
  brief.deadline = os::now() + turnMicros(run);
  for (const auto& command_ : run.project.build)
    brief.commands.push_back(command_);
  for (const auto& command_ : run.project.test)
    brief.commands.push_back(command_);
  const auto text = [&](const char* name) -> std::string {
    const auto found = run.step.inputs.find(name);
    if (found == run.step.inputs.end()) return {};
    auto bytes = run.context->store->texts().read(found->second);
    return bytes ? std::move(*bytes) : std::string{};
  };
  brief.request = text("prompt");
  brief.plan = text("plan");
  brief.problem = text("problem");
  brief.feedback = text("feedback");
  brief.review = text("review");
  brief.comments = text("comment");
  if (run.trial) {
    plan.prompt = run.trial->prompt;
    return plan;
  }
  auto prompt = agents::renderPrompt(*run.settings.prompts, brief);
  if (!prompt) return std::unexpected(Error{ErrorCode::Internal, prompt.error()});
  plan.prompt = std::move(*prompt);
  return plan;
}

// What an agent that is only tried sees as /src.
constexpr auto kTrialFolder = "trial";

bool writes(const StepRun& run) { return run.step.role == Role::Writer || run.step.turn == TurnKind::SelfReview; }

// Tokens that this turn may still cost. Nothing without a budget.
std::optional<std::uint64_t> budgetLeft(const StepRun& run) {
  if (run.task.budget == 0) return std::nullopt;
  const auto spent = static_cast<std::uint64_t>(std::max<std::int64_t>(run.task.usage.tokens(), 0));
  return run.task.budget - std::min(run.task.budget, spent);
}

SessionSpec sessionFor(const StepRun& run, const TurnPlan& plan, const std::string& checkout) {
  SessionSpec spec;
  spec.task = run.task.id;
  spec.owner = run.task.owner;
  spec.run = run.step.name;
  spec.uid = plan.uid;
  spec.checkout = checkout;
  if (writes(run))
    spec.layer = "ws-" + lower(plan.letter);
  else if (!run.step.candidate.empty())
    spec.layer = "ws-" + run.step.name;  // a fresh copy of the candidate for this reviewer, gone with the turn
  spec.directories = {"home-" + lower(plan.letter), "out-" + run.step.name};
  if (run.trial) spec.directories.emplace_back(kTrialFolder);
  spec.temporary = {"out-" + run.step.name, "ws-" + run.step.name};
  if (plan.provider) {
    GatewayTerms terms;
    terms.request.add("base-url", plan.provider->baseUrl);
    for (const auto kind : plan.providerFile->kinds)
      terms.request.add("kind", agents::providerKindName(kind));
    terms.request.add("dummy-key", run.context->dummyKey(run.task.id, plan.letter));
    for (const auto& address : plan.providerFile->allowAddresses)
      terms.request.add("address", address);
    if (const auto left = budgetLeft(run)) terms.request.add("budget", *left);
    terms.credential = run.context->places.keys() + "/" + std::to_string(plan.provider->id) + ".cred";
    spec.gateway = std::move(terms);
  }
  return spec;
}

// A reviewer's workspace is new each time. A writer's is its own, and new only when the task was taken up again after
// its end and nobody has written since.
bool beginsAtBase(const StepRun& run, const TurnPlan& plan) {
  if (run.step.candidate.empty()) return false;
  if (!writes(run)) return true;
  const auto known = run.task.conversations.find(plan.letter);
  return known == run.task.conversations.end() || known->second.turns == 0;
}

// Brings a workspace to the candidate, by a worker with the agent's uid before the agent is there.
Async<std::expected<void, Error>> prepareCandidate(StepRun& run, const TurnPlan& plan, Session& session) {
  if (auto shown = session.remount(false); !shown) co_return shown;
  auto identity = run.context->identities.announce(plan.uid);
  if (!identity) co_return std::unexpected(identity.error());
  if (auto made = co_await checkoutCandidate(run, session, *identity); !made) co_return made;
  co_return session.remount(!writes(run));
}

// What a power cut took from the task's disk is made good before the agent begins: its memory is not asked for, its
// workspace is what was last taken in, and it is told.
Async<std::expected<void, Error>> makeGood(StepRun& run, TurnPlan& plan, Session& session) {
  auto& context = *run.context;
  if (!plan.session.empty() && !session.holds("home-" + lower(plan.letter))) {
    auto anew = planTurn(run, true);
    if (!anew) co_return std::unexpected(anew.error());
    plan = std::move(*anew);
  }
  auto notice = session.notice();
  if (writes(run) && imageLost(context, run.task.id)) {
    if (notice.empty()) notice = "The task's disk was lost in a crash: the work is as it was last taken in.";
    if (!run.task.writerCommit.empty()) {
      auto identity = context.identities.announce(plan.uid);
      if (!identity) co_return std::unexpected(identity.error());
      if (auto brought = co_await checkoutCommit(run, session, *identity, run.task.writerCommit); !brought)
        co_return brought;
    }
    if (auto forgotten = forgetLost(context, run.task.id); !forgotten) co_return forgotten;
  }
  if (!notice.empty()) plan.prompt += "\nFrom Cofferdam, before you begin: " + notice + "\n";
  co_return {};
}

sandbox::AgentSpec agentSpec(const StepRun& run, const TurnPlan& plan, const Session& session,
                             const sandbox::Identity& identity, const std::string& in,
                             const std::pair<std::string, std::string>& outputs) {
  sandbox::AgentSpec spec;
  spec.sealed.name = run.step.name;
  spec.sealed.slice = boxSlice(run.task.owner, run.task.id);
  spec.sealed.identity = identity;
  spec.sealed.command = {{"/usr/libexec/cofferdam/coffer-init"}};
  spec.sealed.limits.runtimeUs = turnMicros(run);
  spec.sealed.in = in;
  spec.sealed.out = session.directory("out-" + run.step.name);
  if (!run.trial)
    spec.sealed.readOnly = {{run.context->places.projectObjects(run.project.id), "/store/base/objects"},
                            {run.context->places.taskObjects(run.task.id), "/store/task/objects"}};
  spec.sealed.standardOutput = outputs.first;
  spec.sealed.standardError = outputs.second;
  spec.namespacePath = session.namespacePath();
  spec.workspace = run.trial ? session.directory(kTrialFolder) : session.workspace();
  spec.workspaceReadOnly = !writes(run);
  spec.home = session.directory("home-" + lower(plan.letter));
  spec.agents = "/opt/agents";
  return spec;
}

// The row of a run whose surroundings could not be made: it ended with that.
void endUnstarted(StepRun& run, const Error& why) {
  const auto record = run.context->store->runs().byUnit(run.step.name);
  if (!record || !*record) return;
  store::RunEnd end;
  end.run = (*record)->id;
  end.ended = os::now();
  end.result = "not-started";
  end.text = why.message;
  if (auto noted = run.context->store->runs().end(end); !noted) log::warning(noted.error().message);
}

// Starts the agent, or finds the one that runs, or the record of the one that ended; nothing when PID 1 forgot it.
Async<std::expected<std::optional<sandbox::UnitEnd>, Error>> runAgent(StepRun& run, const TurnPlan& plan,
                                                                      Session& session, bool began) {
  auto& context = *run.context;
  const auto unit = run.step.name + ".service";
  auto state = co_await context.systemd->state(unit);
  if (!state) co_return std::unexpected(state.error());
  if (!state->loaded) {
    // It was asked for and PID 1 does not know it: a reboot, a crash, or somebody stopped it while nobody looked.
    if (began) co_return std::nullopt;
    auto identity = context.identities.announce(plan.uid);
    if (!identity) co_return std::unexpected(identity.error());
    std::vector<InputFile> files = {{"request.md", plan.prompt},
                                    {"command", plan.command.toRecords("/src", "/task/in/request.md").serialize()}};
    for (const auto& [name, bytes] : agents::turnFiles(plan.brief))
      files.push_back({name, bytes});
    for (const auto& [name, bytes] : plan.command.files)
      files.push_back({"files/" + name, bytes});
    auto in = writeInput(context.places, run.step.name, *identity, files);
    if (!in) co_return std::unexpected(in.error());
    auto outputs = session.outputs(run.step.name);
    if (!outputs) co_return std::unexpected(outputs.error());
    if (run.overtaken()) {
      const Error otherwise{ErrorCode::Cancelled, "the task was decided otherwise before " + unit};
      endUnstarted(run, otherwise);
      co_return std::unexpected(otherwise);
    }
    os::haltAt("start", run.step.name);
    auto description =
        std::make_shared<sandbox::Unit>(sandbox::agentUnit(agentSpec(run, plan, session, *identity, *in, *outputs)));
    // What it may connect to is started beside it: the listeners are there, and connections wait on them.
    auto starting = begin(context.systemd->startUnit(description));
    auto served = co_await session.serve();
    auto started = co_await starting;
    if (started && !served) started = served;
    if (!started) {
      co_await context.systemd->remove(unit);
      endUnstarted(run, started.error());
      co_return std::unexpected(started.error());
    }
  } else if (state->running()) {
    if (auto served = co_await session.serve(); !served) co_return std::unexpected(served.error());
  }
  co_return co_await context.systemd->waitForEnd(unit);
}

// Whether a request was refused because the budget is used up. What an agent asked after it says nothing.
bool cutOff(const Session& session) {
  const auto metered = session.metered();
  return std::ranges::any_of(metered.list(),
                             [](const auto& record) { return record.key == "error" && record.value == "budget"; });
}

// Stops the gateway, which then says what it metered in all.
Async<Records> gatewayReport(StepRun& run, const TurnPlan& plan, Session& session) {
  if (!plan.provider) co_return Records{};
  const auto name = run.unit("gateway");
  co_await run.context->systemd->remove(name + ".service");
  auto output = os::openDirectory(run.context->places.work() + "/" + name);
  if (output) {
    if (auto bytes = os::readBeneath(output->get(), "report", limits::kReportBytes)) {
      if (auto report = Records::parse(*bytes)) co_return std::move(*report);
    }
  }
  // It was killed before it could sum up: the log of each request is there as far as it got.
  Records sum;
  std::uint64_t input = 0;
  std::uint64_t cached = 0;
  std::uint64_t output_ = 0;
  std::uint64_t requests = 0;
  const auto metered = session.metered();
  for (const auto& record : metered.list()) {
    if (record.key == "request") ++requests;
    if (record.key == "input" || record.key == "cache-write") input += Records::decimal(record.value);
    if (record.key == "cached") cached += Records::decimal(record.value);
    if (record.key == "output") output_ += Records::decimal(record.value);
  }
  sum.add("requests", requests);
  sum.add("input", input);
  sum.add("cached", cached);
  sum.add("output", output_);
  co_return sum;
}

// What the agent left in /task/out, moved as it is to where the collector reads it: the agent's directory is closed to
// every other uid, and what is judged must not change any more. What cannot be moved is put there as something that the
// collector refuses by name.
std::expected<std::vector<InputFile>, Error> exchangeFiles(const std::string& path) {
  auto directory = os::openDirectory(path);
  if (!directory) return std::unexpected(directory.error());
  std::vector<InputFile> files = {{"exchange/", {}}};
  for (const std::string name : {"question.md", "plan.md", "review.json", "answer.md", "verify-proposal.md",
                                 "history-request.md", "criteria.md", "red.md"}) {
    auto bytes = os::readBeneath(directory->get(), name, limits::kTextBytes);
    if (bytes)
      files.push_back({"exchange/" + name, std::move(*bytes)});
    else if (bytes.error().code == ErrorCode::TooLarge)
      files.push_back({"exchange/" + name, std::string(limits::kTextBytes + 1, ' ')});
    else if (bytes.error().code != ErrorCode::NotFound)
      files.push_back({"exchange/" + name + "/", {}});
  }
  return files;
}

// What earlier turns of the conversation used: some agents only tell the sum.
model::Usage usedBefore(const StepRun& run, const TurnPlan& plan) {
  model::Usage sum;
  if (const auto runs = run.context->store->runs().ofTask(run.task.id))
    for (const auto& each : *runs)
      if (each.start.conversation == plan.conversation && each.start.unit != run.step.name) sum += each.end.usage;
  return sum;
}

Async<std::expected<WorkerResult, Error>> collect(StepRun& run, const TurnPlan& plan, const Session& session) {
  Records request;
  request.add("role", model::spell(run.step.role));
  request.add("turn", model::spell(run.step.turn));
  plan.descriptor->protocol.toRecords(request);
  const auto before = usedBefore(run, plan);
  request.add("base.input", static_cast<std::uint64_t>(before.input));
  request.add("base.cached", static_cast<std::uint64_t>(before.cached));
  request.add("base.output", static_cast<std::uint64_t>(before.output));
  std::vector<sandbox::Bind> binds = {{session.outputFile(run.step.name, "out"), "/in/stdout"},
                                      {session.outputFile(run.step.name, "err"), "/in/stderr"}};
  auto exchange = exchangeFiles(session.directory("out-" + run.step.name));
  if (!exchange) co_return std::unexpected(exchange.error());
  std::vector<sandbox::Bind> writable;
  co_return co_await runOwnWorker(run, "collect", "coffer-collector", "turn", std::move(request), std::move(binds),
                                  std::move(writable), std::move(*exchange));
}

// The end of the run and what was refused in it, once.
std::expected<void, Error> recordEnd(StepRun& run, const std::vector<store::Refusal>& refused, std::uint64_t id,
                                     const sandbox::UnitEnd& end, const model::Usage& usage, const std::string& words) {
  auto& store = *run.context->store;
  auto transaction = store.transaction();
  store::RunEnd record;
  record.run = id;
  record.ended = end.endedUs ? end.endedUs : os::now();
  record.result = end.result;
  record.code = end.code;
  record.status = end.status;
  record.invocation = end.invocation;
  record.text = words;
  record.usage = usage;
  auto counted = store.runs().end(record);
  if (!counted) return std::unexpected(counted.error());
  if (*counted)
    for (const auto& refusal : refused)
      if (auto added = store.refusals().add(run.task.id, refusal); !added) return added;
  return transaction.finish();
}

bool outputFull(const Session& session, const StepRun& run) {
  struct statvfs status{};
  if (::statvfs(session.outputFile(run.step.name, "out").c_str(), &status) < 0) return false;
  return status.f_bavail * status.f_frsize < std::uint64_t{1} << 20U;
}

TurnOutcome outcomeOf(std::string_view error, const sandbox::UnitEnd& end, bool agentContent, bool full) {
  if (error == "budget") return TurnOutcome::OverBudget;
  if (end.result == "oom-kill") return TurnOutcome::OomKilled;
  if (end.result == "timeout") return TurnOutcome::TimedOut;
  if (full) return TurnOutcome::OutputLimit;
  if (end.success() && agentContent) return TurnOutcome::Ok;
  if (error == "rate-limit" || error == "quota") return TurnOutcome::RateLimited;
  if (error == "auth") return TurnOutcome::AuthFailed;
  if (error == "overloaded" || error == "server" || error == "unreachable" || error == "tls" || error == "timeout" ||
      error == "cut")
    return TurnOutcome::Unreachable;
  if (end.result == "signal" || end.result == "core-dump") return TurnOutcome::Killed;
  return TurnOutcome::Failed;
}

std::string endWords(const TurnPlan& plan, const sandbox::UnitEnd& end) {
  if (end.result == "oom-kill") return plan.descriptor->title + " used more memory than the task may and was killed";
  if (end.result == "timeout") return plan.descriptor->title + " did not end in time and was stopped";
  if (end.result == "exit-code")
    return plan.descriptor->title + " ended with exit status " + std::to_string(end.status);
  return plan.descriptor->title + " ended by itself without a result (" + end.result + ")";
}

std::string keepText(StepOutcome& outcome, std::string_view bytes) {
  if (bytes.empty()) return {};
  outcome.texts.emplace_back(bytes);
  return model::sha256(bytes);
}

void takePlan(StepOutcome& outcome, model::TurnEnded& fact, const Records& report) {
  fact.plan.digest = keepText(outcome, report.get("plan"));
  fact.plan.summary = report.get("plan.summary");
  fact.plan.refusal = report.get("plan.refusal");
  if (!fact.plan.refusal.empty()) fact.problem = keepText(outcome, fact.plan.refusal);
}

void takeReview(StepOutcome& outcome, model::TurnEnded& fact, const Records& report, const StepRun& run) {
  fact.review.digest = keepText(outcome, report.get("review"));
  fact.review.refusal = report.get("review.refusal");
  if (!fact.review.refusal.empty()) fact.problem = keepText(outcome, fact.review.refusal);
  for (const auto bytes : report.all("finding")) {
    const auto parts = Records::parse(bytes);
    if (!parts) continue;
    store::Finding finding;
    finding.task = run.task.id;
    finding.run = fact.run;
    finding.round = run.step.round;
    finding.source = "reviewer";
    finding.id = parts->get("id");
    finding.severity = parts->get("severity");
    finding.blocking = finding.severity == "error";
    finding.path = parts->get("path");
    finding.line = parts->number("line");
    finding.title = parts->get("title");
    finding.text = parts->get("text");
    fact.review.findings += 1;
    if (finding.blocking) fact.review.blocking += 1;
    outcome.findings.push_back(std::move(finding));
  }
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performTurn(StepRun& run) {
  auto& context = *run.context;
  auto plan = planTurn(run);
  if (!plan) co_return std::unexpected(plan.error());
  auto record = context.store->runs().byUnit(run.step.name);
  if (!record) co_return std::unexpected(record.error());
  const bool began = record->has_value();
  if (!began && budgetLeft(run) == 0) {
    StepOutcome refused;
    refused.fact = model::TurnEnded{.step = run.step.name, .outcome = TurnOutcome::OverBudget};
    co_return refused;
  }
  std::expected<std::string, Error> checkout;
  if (!run.trial) checkout = co_await ensureCheckout(run, run.task.start(), run.task.branch);
  if (!checkout) co_return std::unexpected(checkout.error());
  const auto& configuration = run.settings.configuration->current();
  auto slices =
      co_await makeSlices(context, run.task.id, run.task.owner, boxLimits(configuration), userLimits(configuration));
  if (!slices) co_return std::unexpected(slices.error());

  std::uint64_t runId = began ? (*record)->id : 0;
  const bool ended = began && (*record)->end.ended != 0;

  auto held = std::make_shared<Session>(context, sessionFor(run, *plan, *checkout));
  auto& session = *held;
  if (auto opened = co_await session.open(); !opened) {
    co_await session.close();
    co_return std::unexpected(opened.error());
  }
  const auto prepared = co_await context.systemd->state(run.step.name + ".service");
  if (prepared && !prepared->loaded && !began) {
    if (auto good = co_await makeGood(run, *plan, session); !good) {
      co_await session.close();
      co_return std::unexpected(good.error());
    }
  }
  if (beginsAtBase(run, *plan) && prepared && !prepared->loaded && !began) {
    auto serving = begin(session.serve());
    auto ready = co_await prepareCandidate(run, *plan, session);
    if (auto served = co_await serving; ready && !served) ready = served;
    if (!ready) {
      co_await session.close();
      co_return std::unexpected(ready.error());
    }
  }

  // The row is there before the unit is asked for, so that a unit without a row is nobody's and a row without a unit is
  // told.
  if (!began) {
    store::RunStart begin;
    begin.task = run.task.id;
    begin.step = run.step.name;
    begin.kind = "turn";
    begin.role = model::spell(run.step.role);
    begin.agent = plan->binding.agent;
    begin.model = plan->binding.model;
    begin.round = run.step.round;
    begin.attempt = run.step.attempt;
    begin.unit = run.step.name;
    begin.conversation = plan->conversation;
    begin.uid = plan->uid;
    begin.started = os::now();
    auto id = context.store->runs().begin(begin);
    if (!id) {
      co_await session.close();
      co_return std::unexpected(id.error());
    }
    runId = *id;
  }

  StepOutcome outcome;
  model::TurnEnded fact;
  fact.step = run.step.name;
  fact.run = runId;
  sandbox::UnitEnd end;
  bool known = true;
  if (ended) {
    const auto& kept = (*record)->end;
    end.result = kept.result;
    end.code = kept.code;
    end.status = kept.status;
    end.startedUs = (*record)->start.started;
    end.endedUs = kept.ended;
    known = kept.result != "interrupted";
  } else {
    auto ran = co_await runAgent(run, *plan, session, began);
    if (!ran) {
      co_await session.close();
      co_return std::unexpected(ran.error());
    }
    os::haltAt("end", run.step.name);
    known = ran->has_value();
    if (known) end = **ran;
    if (!known) end.result = "interrupted";
  }

  const auto metered = co_await gatewayReport(run, *plan, session);
  const bool overBudget = cutOff(session);
  auto collected = co_await collect(run, *plan, session);
  const Records report = collected ? collected->report : Records{};

  const bool byGateway = plan->provider && metered.number("requests") > 0;
  fact.usage.input = static_cast<std::int64_t>(byGateway ? metered.number("input") + metered.number("cache-write")
                                                         : report.number("usage.input"));
  fact.usage.cached = static_cast<std::int64_t>(byGateway ? metered.number("cached") : report.number("usage.cached"));
  fact.usage.output = static_cast<std::int64_t>(byGateway ? metered.number("output") : report.number("usage.output"));
  fact.usage.requests = static_cast<std::int64_t>(metered.number("requests"));
  if (end.endedUs > end.startedUs) fact.usage.wallMicros = static_cast<std::int64_t>(end.endedUs - end.startedUs);
  fact.session = report.get("session");
  fact.notice = session.notice();
  outcome.text = report.get("text");

  const auto agentError = report.get("error-class");
  const auto error = overBudget                      ? std::string_view("budget")
                     : !metered.get("error").empty() ? metered.get("error")
                                                     : agentError;
  fact.outcome =
      !known ? TurnOutcome::Interrupted : outcomeOf(error, end, agentError.empty(), outputFull(session, run));
  if (fact.outcome != TurnOutcome::Ok) {
    const auto text = report.get("error-text");
    fact.words = !text.empty() ? std::string(text) : endWords(*plan, end);
  }
  if (fact.outcome == TurnOutcome::RateLimited) {
    if (metered.has("reset"))
      fact.until = metered.number("reset") * 1'000'000;
    else if (metered.has("retry-after"))
      fact.until = os::now() + metered.number("retry-after") * 1'000'000;
  }
  fact.question = keepText(outcome, report.get("question"));
  fact.answer = keepText(outcome, report.get("answer"));
  if (run.step.role == Role::Planner) takePlan(outcome, fact, report);
  if (run.step.role == Role::Reviewer) takeReview(outcome, fact, report, run);
  if (collected) {
    static_cast<void>(keepFile(collected->output, "transcript", context.places.transcripts(run.task.id), run.step.name,
                               limits::kLogShownBytes));
    static_cast<void>(removeOutput(context.places, run.unit("collect")));
  } else if (fact.outcome == TurnOutcome::Ok) {
    fact.outcome = TurnOutcome::Failed;
    fact.words = "what the agent left could not be read: " + collected.error().message;
  }
  // PID 1 holds the record until ours is on disk.
  if (!ended) {
    const auto refused = co_await session.refusals(std::string(model::spell(run.step.role)));
    if (auto noted = recordEnd(run, refused, runId, end, fact.usage, fact.words); !noted) {
      co_await session.close();
      co_return std::unexpected(noted.error());
    }
    os::haltAt("recorded", run.step.name);
  }
  co_await context.systemd->remove(run.step.name + ".service");
  outcome.session = std::move(held);
  static_cast<void>(removeInput(context.places, run.step.name));
  context.releaseUid(run.task.id, run.unit("collect"));
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
