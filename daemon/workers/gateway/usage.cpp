#include "workers/gateway/usage.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/limits.hpp"

namespace coffer::gateway {

namespace {

constexpr std::size_t kModels = 16;
constexpr std::size_t kPathBytes = 128;

std::unexpected<Error> fault(const std::string& what) {
  return std::unexpected(Error{ErrorCode::Internal, what + ": " + std::strerror(errno)});
}

/// Bytes up to the end of the last record that is whole. Records of ours are never longer than their file.
std::size_t wholeRecords(std::string_view bytes) {
  std::size_t at = 0;
  for (;;) {
    const auto line = bytes.find('\n', at);
    if (line == std::string_view::npos) return at;
    const auto space = bytes.find(' ', at);
    if (space == std::string_view::npos || space > line) return at;
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(bytes.data() + space + 1, bytes.data() + line, size);
    if (error != std::errc{} || end != bytes.data() + line || size >= bytes.size() - line - 1) return at;
    at = line + 1 + size + 1;
  }
}

/// Keeps what a person can read: paths come from the sandbox.
std::string printable(std::string_view path) {
  std::string out(path.substr(0, kPathBytes));
  for (auto& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

Records recordsOf(const RequestUsage& request) {
  Records records;
  records.add("request", request.number);
  records.add("path", request.path);
  records.add("status", request.status);
  records.add("input", request.tokens.input);
  records.add("cached", request.tokens.cached);
  records.add("cache-write", request.tokens.cacheWrite);
  records.add("output", request.tokens.output);
  records.add("model", request.model);
  records.add("ms", request.milliseconds);
  if (request.estimated) records.add("estimated", "yes");
  if (!request.error.empty()) records.add("error", request.error);
  if (request.pause.retryAfter) records.add("retry-after", *request.pause.retryAfter);
  if (request.pause.reset) records.add("reset", *request.pause.reset);
  return records;
}

RequestUsage requestOf(const Records& group) {
  RequestUsage request;
  request.number = group.number("request");
  request.path = group.get("path");
  request.status = static_cast<unsigned>(group.number("status"));
  request.tokens = {group.number("input"), group.number("cached"), group.number("cache-write"), group.number("output")};
  request.estimated = group.has("estimated");
  request.model = group.get("model");
  request.milliseconds = group.number("ms");
  request.error = group.get("error");
  if (group.has("retry-after")) request.pause.retryAfter = group.number("retry-after");
  if (group.has("reset")) request.pause.reset = group.number("reset");
  return request;
}

}  // namespace

void UsageTotals::add(const RequestUsage& request) {
  ++requests;
  estimated += request.estimated ? 1 : 0;
  tokens.input += request.tokens.input;
  tokens.cached += request.tokens.cached;
  tokens.cacheWrite += request.tokens.cacheWrite;
  tokens.output += request.tokens.output;
  if (!request.model.empty() && models.size() < kModels) models.insert(request.model);
  error = request.error;
  status = request.status;
  pause = request.pause;
}

void UsageTotals::write(Records& records) const {
  records.add("requests", requests);
  records.add("estimated", estimated);
  records.add("refused", refused);
  records.add("input", tokens.input);
  records.add("cached", tokens.cached);
  records.add("cache-write", tokens.cacheWrite);
  records.add("output", tokens.output);
  for (const auto& model : models)
    records.add("model", model);
  records.add("status", status);
  if (!error.empty()) records.add("error", error);
  if (pause.retryAfter) records.add("retry-after", *pause.retryAfter);
  if (pause.reset) records.add("reset", *pause.reset);
}

std::expected<UsageLog, std::string> UsageLog::read(std::string_view bytes) {
  UsageLog log;
  log.completeBytes = wholeRecords(bytes);
  const auto records = Records::parse(bytes.substr(0, log.completeBytes));
  if (!records) return std::unexpected(records.error());

  // A group ends where the next begins. The last one may be cut between two of its records: that it is there at all is
  // enough for `begin`; a `request` of which only a part is there was not ended, so its `begin` stays open.
  Records group;
  const auto close = [&] {
    if (group.has("begin")) {
      const auto number = group.number("begin");
      log.lastNumber = std::max(log.lastNumber, number);
      log.open[number] = {std::string(group.get("path")), group.number("reserve")};
    } else if (group.has("request") && group.has("ms")) {
      const auto request = requestOf(group);
      if (log.open.erase(request.number) == 1) log.totals.add(request);
    } else if (group.has("refused")) {
      ++log.totals.refused;
    }
    group = Records();
  };
  for (const auto& record : records->list()) {
    if (record.key == "begin" || record.key == "request" || record.key == "refused") close();
    group.add(record.key, record.value);
  }
  close();
  return log;
}

std::expected<UsageFile, Error> UsageFile::open(const std::string& path) {
  UsageFile usage;
  usage.file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!usage.file_) return fault("open usage");
  struct stat status{};
  if (::fstat(usage.file_.get(), &status) != 0) return fault("stat usage");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto got = ::pread(usage.file_.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got <= 0) return fault("read usage");
    at += static_cast<std::size_t>(got);
  }
  auto log = UsageLog::read(bytes);
  if (!log) return std::unexpected(Error{ErrorCode::Internal, log.error()});
  usage.log_ = *std::move(log);
  if (usage.log_.completeBytes < bytes.size() &&
      ::ftruncate(usage.file_.get(), static_cast<off_t>(usage.log_.completeBytes)) != 0)
    return fault("repair usage");
  if (auto ended = usage.endOpen(); !ended) return std::unexpected(ended.error());
  return usage;
}

std::expected<std::uint64_t, Error> UsageFile::begin(std::string_view path, std::uint64_t reserve) {
  const auto number = log_.lastNumber + 1;
  Records records;
  records.add("begin", number);
  records.add("path", path);
  records.add("reserve", reserve);
  if (auto written = append(records, false); !written) return std::unexpected(written.error());
  log_.lastNumber = number;
  log_.open[number] = {std::string(path), reserve};
  return number;
}

std::expected<void, Error> UsageFile::end(const RequestUsage& request) {
  if (auto written = append(recordsOf(request), true); !written) return written;
  log_.open.erase(request.number);
  log_.totals.add(request);
  return {};
}

std::expected<void, Error> UsageFile::endOpen() {
  const auto open = log_.open;
  for (const auto& [number, left] : open) {
    RequestUsage request;
    request.number = number;
    request.path = left.path;
    request.tokens.input = left.reserved;
    request.estimated = true;
    request.error = failure::kStopped;
    if (auto ended = end(request); !ended) return ended;
  }
  return {};
}

void UsageFile::refused(unsigned status, std::string_view path) {
  if (++log_.totals.refused > limits::kGatewayRefusals) return;
  Records records;
  records.add("refused", status);
  records.add("path", printable(path));
  // Nothing depends on it: a full disk is found by the next request that does.
  static_cast<void>(append(records, false));
}

std::uint64_t UsageFile::committed() const {
  auto tokens = log_.totals.tokens.sum();
  for (const auto& [number, open] : log_.open)
    tokens += open.reserved;
  return tokens;
}

bool UsageFile::full() const { return log_.lastNumber >= limits::kGatewayRequests; }

std::expected<void, Error> UsageFile::append(const Records& records, bool durable) {
  const auto bytes = records.serialize();
  const auto size = ::lseek(file_.get(), 0, SEEK_END);
  if (size < 0) return fault("seek usage");
  const auto written = ::write(file_.get(), bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) {
    if (written >= 0) errno = ENOSPC;
    const int why = errno;
    // Half a group would be taken for the beginning of the next; should it stay, the reader stops there.
    const bool undone = ::ftruncate(file_.get(), size) == 0;
    errno = why;
    return fault(undone ? "write usage" : "write and cut usage");
  }
  if (durable && ::fdatasync(file_.get()) != 0) return fault("sync usage");
  return {};
}

}  // namespace coffer::gateway
