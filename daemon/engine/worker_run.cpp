#include "engine/worker_run.hpp"

#include <memory>
#include <utility>

#include <sys/stat.h>

#include "model/limits.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

std::vector<std::string> mountPoints(const std::vector<sandbox::Bind>& binds, std::string_view below) {
  std::vector<std::string> points;
  for (const auto& bind : binds) {
    if (!bind.destination.starts_with(below)) continue;
    struct stat status{};
    const bool directory = ::lstat(bind.source.c_str(), &status) < 0 || S_ISDIR(status.st_mode);
    points.push_back(bind.destination.substr(below.size()) + (directory ? "/" : ""));
  }
  return points;
}

std::expected<Records, Error> readReport(const std::string& output, const std::string& program) {
  auto directory = os::openDirectory(output);
  if (!directory) return std::unexpected(directory.error());
  auto bytes = os::readBeneath(directory->get(), "report", limits::kReportBytes);
  if (!bytes) return std::unexpected(Error{ErrorCode::Internal, program + " left no report: " + bytes.error().message});
  auto report = Records::parse(*bytes);
  if (!report)
    return std::unexpected(Error{ErrorCode::Internal, program + " left a report that is none: " + report.error()});
  if (report->has("refused")) {
    const auto code = errorCode(report->get("refused"));
    return std::unexpected(Error{code.value_or(ErrorCode::Internal), std::string(report->get("message"))});
  }
  return std::move(*report);
}

// An owner's whole history takes longer than anything an agent leaves in one turn.
std::uint64_t secondsOf(const WorkerRun& run) {
  return run.program == "coffer-repository" ? limits::kRepositorySeconds : limits::kCollectSeconds;
}

Error endError(const WorkerRun& run, const sandbox::UnitEnd& end) {
  if (end.result == "timeout")
    return {ErrorCode::Environment, run.program + " " + run.verb + " did not end in " + std::to_string(secondsOf(run)) +
                                        " seconds and was stopped"};
  if (end.result == "oom-kill") return {ErrorCode::Environment, run.program + " " + run.verb + " ran out of memory"};
  return {ErrorCode::Internal, run.program + " " + run.verb + " failed (" + end.result + ", status " +
                                   std::to_string(end.status) + "); journalctl -u " + run.unit + " says more"};
}

}  // namespace

sandbox::Unit unitOf(const WorkerRun& run, std::string in, std::string out) {
  sandbox::SealedSpec spec;
  spec.name = run.unit;
  spec.slice = run.slice;
  spec.identity = run.identity;
  spec.command = {{"/usr/libexec/cofferdam/" + run.program, run.verb}};
  spec.limits.runtimeUs = secondsOf(run) * 1'000'000;
  spec.limits.memoryBytes = run.memoryBytes;
  spec.limits.tasks = run.tasks;
  spec.limits.fileBytes = run.fileBytes;
  spec.in = std::move(in);
  spec.out = std::move(out);
  spec.readOnly = run.readOnly;
  spec.writable = run.writable;
  spec.locked = run.locked;
  spec.pinned = run.pinned;
  return run.asOwner ? sandbox::ownerUnit(spec) : sandbox::workerUnit(spec);
}

Async<std::expected<WorkerResult, Error>> runWorker(sandbox::Systemd& systemd, Places places, WorkerRun run) {
  co_await systemd.remove(run.unit + ".service");

  auto files = std::move(run.files);
  files.push_back({"request", run.request.serialize()});
  auto inPoints = mountPoints(run.readOnly, "/in/");
  for (auto& point : mountPoints(run.writable, "/in/"))
    inPoints.push_back(std::move(point));
  auto in = writeInput(places, run.unit, run.identity, files, inPoints);
  if (!in) co_return std::unexpected(in.error());
  auto points = mountPoints(run.writable, "/out/");
  for (auto& point : points)
    while (point.ends_with('/'))
      point.pop_back();
  auto out = makeOutput(places, run.unit, run.identity.uid, points);
  if (!out) co_return std::unexpected(out.error());

  const auto unit = std::make_shared<sandbox::Unit>(unitOf(run, *in, *out));

  std::expected<WorkerResult, Error> result = std::unexpected(Error{});
  if (auto started = co_await systemd.startUnit(unit); !started) {
    result = std::unexpected(started.error());
  } else if (auto end = co_await systemd.waitForEnd(unit->name); !end) {
    result = std::unexpected(end.error());
  } else if (auto left = readReport(*out, run.program); !*end && left) {
    // A report is there whole or not at all, whatever PID 1 knows of its writer.
    result = WorkerResult{std::move(*left), *out};
  } else if (!*end) {
    const Error stopped{ErrorCode::Cancelled, run.program + " " + run.verb + " was stopped from outside"};
    result = std::unexpected(left.error().code == ErrorCode::Internal ? stopped : left.error());
  } else if (!(*end)->success()) {
    result = std::unexpected(endError(run, **end));
  } else if (!left) {
    result = std::unexpected(left.error());
  } else {
    result = WorkerResult{std::move(*left), *out};
  }
  co_await systemd.remove(unit->name);
  static_cast<void>(removeInput(places, run.unit));
  if (!result) static_cast<void>(removeOutput(places, run.unit));
  co_return result;
}

}  // namespace coffer::engine
