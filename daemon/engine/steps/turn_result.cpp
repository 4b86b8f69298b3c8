#include "engine/turn_result.hpp"

#include <algorithm>
#include <utility>

#include <sys/statvfs.h>

#include "engine/image_mounts.hpp"
#include "engine/keep.hpp"
#include "engine/turn_words.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "model/pause_limits.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"
#include "os/clock.hpp"

namespace coffer::engine {
namespace {

using model::Role;
using model::TurnOutcome;

// Whether a request was refused because the budget is used up. What an agent asked after it says nothing.
bool cutOff(const Session& session) {
  const auto metered = session.metered();
  return std::ranges::any_of(metered.list(),
                             [](const auto& record) { return record.key == "error" && record.value == "budget"; });
}

// Stops the gateway, which then says what it metered in all. There may be one whose provider is gone by now.
Async<Records> gatewayReport(StepRun& run, Session& session) {
  const auto name = run.unit("gateway");
  if (!os::openDirectory(run.context->places.work() + "/" + name)) co_return Records{};
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
  Records last;
  for (const auto& record : metered.list()) {
    if (record.key == "request") {
      ++requests;
      last = {};
    }
    if (record.key == "status" || record.key == "error" || record.key == "retry-after" || record.key == "reset")
      last.add(record.key, record.value);
    if (record.key == "input" || record.key == "cache-write") input += Records::decimal(record.value);
    if (record.key == "cached") cached += Records::decimal(record.value);
    if (record.key == "output") output_ += Records::decimal(record.value);
  }
  sum.add("requests", requests);
  sum.add("input", input);
  sum.add("cached", cached);
  sum.add("output", output_);
  for (const auto& record : last.list())
    sum.add(record.key, record.value);
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

Async<std::expected<WorkerResult, Error>> collect(StepRun& run, const TurnPlan& plan, const Session& session,
                                                  const sandbox::UnitEnd& end) {
  Records request;
  request.add("role", model::spell(run.step.role));
  request.add("turn", model::spell(run.step.turn));
  request.add("result", end.result);
  request.add("exit", std::to_string(end.status));
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

bool full(const std::string& path) {
  struct statvfs status{};
  return ::statvfs(path.c_str(), &status) == 0 && status.f_bavail * status.f_frsize < limits::kFullBytes;
}

TurnOutcome outcomeOf(std::string_view error, const sandbox::UnitEnd& end, bool agentContent, bool outputFull,
                      bool diskFull) {
  if (error == "budget") return TurnOutcome::OverBudget;
  if (end.result == "oom-kill") return TurnOutcome::OomKilled;
  if (end.result == "timeout") return TurnOutcome::TimedOut;
  if (outputFull) return TurnOutcome::OutputLimit;
  if (end.success() && agentContent) return TurnOutcome::Ok;
  if (error == "rate-limit" || error == "quota") return TurnOutcome::RateLimited;
  if (error == "auth") return TurnOutcome::AuthFailed;
  if (error == "overloaded" || error == "server" || error == "unreachable" || error == "tls" || error == "timeout" ||
      error == "cut")
    return TurnOutcome::Unreachable;
  if (diskFull) return TurnOutcome::DiskFull;
  if (end.result == "signal" || end.result == "core-dump") return TurnOutcome::Killed;
  return TurnOutcome::Failed;
}

// When a turn that met a passing trouble is begun again by itself; 0 where a person has to say so.
std::uint64_t untilAgain(TurnOutcome outcome, const Records& metered, const model::Task& task) {
  const auto now = os::now();
  if (outcome == TurnOutcome::Unreachable && task.troubles + 1 < limits::kTroubles)
    return now + (limits::kTroublePause << task.troubles);
  if (outcome != TurnOutcome::RateLimited) return 0;
  std::uint64_t until = 0;
  if (metered.has("reset"))
    until = metered.number("reset") * 1'000'000;
  else if (metered.has("retry-after"))
    until = now + std::min(metered.number("retry-after"), limits::kProviderPauseSeconds) * 1'000'000;
  const auto most = now + limits::kProviderPauseSeconds * 1'000'000;
  return until != 0 ? std::clamp(until, now + limits::kQuotaPauseLeast, most) : 0;
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
    finding.blocking = parts->number("blocking") == 1;
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

Async<TurnResult> readTurn(StepRun& run, const TurnPlan& plan, Session& session, std::uint64_t runId,
                           const sandbox::UnitEnd& end, bool known) {
  TurnResult result;
  auto& fact = result.fact;
  auto& outcome = result.outcome;
  fact.step = run.step.name;
  fact.run = runId;
  const auto metered = co_await gatewayReport(run, session);
  const bool overBudget = cutOff(session);
  auto collected = co_await collect(run, plan, session, end);
  const Records report = collected ? collected->report : Records{};

  const bool byGateway = metered.number("requests") > 0;
  fact.usage.input = static_cast<std::int64_t>(byGateway ? metered.number("input") + metered.number("cache-write")
                                                         : report.number("usage.input"));
  fact.usage.cached = static_cast<std::int64_t>(byGateway ? metered.number("cached") : report.number("usage.cached"));
  fact.usage.output = static_cast<std::int64_t>(byGateway ? metered.number("output") : report.number("usage.output"));
  fact.usage.requests = static_cast<std::int64_t>(metered.number("requests"));
  if (end.endedUs > end.startedUs) fact.usage.wallMicros = static_cast<std::int64_t>(end.endedUs - end.startedUs);
  fact.session = report.get("session");
  // An agent that was cut off may not have read it: it is told again, and the person with it.
  if (known) fact.notice = toldInTurn(*run.context, run.task.id, run.step.name);
  outcome.text = report.get("text");

  const auto agentError = report.get("error-class");
  const auto error = overBudget                      ? std::string_view("budget")
                     : !metered.get("error").empty() ? metered.get("error")
                                                     : agentError;
  fact.outcome = !known ? TurnOutcome::Interrupted
                        : outcomeOf(error, end, agentError.empty(), full(session.outputFile(run.step.name, "out")),
                                    full(session.directory("out-" + run.step.name)));
  if (plan.provider) fact.provider = plan.provider->name;
  if (fact.outcome != TurnOutcome::Ok) {
    fact.words = turnWords({.agent = plan.descriptor->title,
                            .provider = fact.provider,
                            .url = plan.provider ? plan.provider->baseUrl : "",
                            .failure = error,
                            .status = metered.number("status"),
                            .said = report.get("said"),
                            .end = end});
    result.told = report.has("error-text") ? report.get("error-text") : fact.words;
  }
  fact.until = untilAgain(fact.outcome, metered, run.task);
  fact.question = keepText(outcome, report.get("question"));
  fact.answer = keepText(outcome, report.get("answer"));
  if (run.step.role == Role::Planner) takePlan(outcome, fact, report);
  if (run.step.role == Role::Reviewer) takeReview(outcome, fact, report, run);
  if (collected) {
    static_cast<void>(keepFile(collected->output, "transcript", run.context->places.transcripts(run.task.id),
                               run.step.name, limits::kLogShownBytes));
    static_cast<void>(removeOutput(run.context->places, run.unit("collect")));
  } else if (fact.outcome == TurnOutcome::Ok) {
    fact.outcome = TurnOutcome::Failed;
    fact.words = "what the agent left could not be read: " + collected.error().message;
    result.told = fact.words;
  }
  co_return result;
}

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
  if (auto kept = transaction.finish(); !kept) return kept;
  if (*counted) logEnd(run, run.step.name, refused);
  return {};
}

}  // namespace coffer::engine
