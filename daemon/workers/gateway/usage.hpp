#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "os/fd.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/meter.hpp"
#include "workers/record.hpp"

namespace coffer::gateway {

/// One request as it ended.
struct RequestUsage {
  std::uint64_t number = 0;  ///< from 1, in the order they began, over restarts too
  std::string path;
  unsigned status = 0;  ///< what the agent was told; 0 when it was told nothing
  Tokens tokens;
  bool estimated = false;  ///< tokens by bytes, because the provider did not say
  std::string model;
  std::uint64_t milliseconds = 0;
  std::string error;  ///< see failure.hpp; empty when all went well
  Pause pause;
};

/// What a run's requests came to.
struct UsageTotals {
  std::uint64_t requests = 0;
  std::uint64_t estimated = 0;
  std::uint64_t refused = 0;
  Tokens tokens;
  std::set<std::string> models;
  /// Of the last request that ended: a run's trouble is the one it ended with.
  std::string error;
  unsigned status = 0;
  Pause pause;

  void add(const RequestUsage& request);
  /// As records: requests, estimated, refused, input, cached, cache-write, output, model (repeated), status, error,
  /// retry-after, reset. The last three only when there is something to say.
  void write(Records& records) const;
};

/// The requests recorded in the bytes of a usage file, which may end in the middle of a record when it is still
/// written.
struct UsageLog {
  UsageTotals totals;
  std::uint64_t lastNumber = 0;
  /// Begun and not ended, by number: path and tokens held back.
  struct Open {
    std::string path;
    std::uint64_t reserved = 0;
  };
  std::map<std::uint64_t, Open> open;
  std::size_t completeBytes = 0;  ///< up to the end of the last whole record

  static std::expected<UsageLog, std::string> read(std::string_view bytes);
};

/// The append-only file `/out/usage`. Groups of records, each written by one write(2):
///   begin N, path, reserve                                             a request goes to the provider
///   request N, path, status, input, cached, cache-write, output, model, ms, [estimated], [error], [retry-after],
///   [reset] refused STATUS, path                                               answered by the gateway itself
/// A request that is begun and never ended (kill -9) is charged what was held back for it when the gateway starts
/// again, so neither a restart nor an agent that kills its connection makes tokens free, and none counts twice.
class UsageFile {
 public:
  /// Opens or continues the file, ending what a previous process left open.
  static std::expected<UsageFile, Error> open(const std::string& path);

  /// A request goes out. Nothing when it cannot be written down: then it must not go out.
  std::expected<std::uint64_t, Error> begin(std::string_view path, std::uint64_t reserve);
  /// It ended; on disk when this returns.
  std::expected<void, Error> end(const RequestUsage& request);
  /// Ends what is still open, charged what was held back for it.
  std::expected<void, Error> endOpen();
  void refused(unsigned status, std::string_view path);

  [[nodiscard]] const UsageTotals& totals() const { return log_.totals; }
  /// Tokens spent and held back.
  [[nodiscard]] std::uint64_t committed() const;
  [[nodiscard]] bool full() const;

 private:
  std::expected<void, Error> append(const Records& records, bool durable);

  Fd file_;
  UsageLog log_;
};

}  // namespace coffer::gateway
