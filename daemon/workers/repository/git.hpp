#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "workers/repository/scratch.hpp"

namespace coffer::repository {

/// Runs git's plumbing with nothing of anybody's in effect: the environment is built from nothing, and the repository
/// it works in is an empty bare directory of this run's own, whose configuration we write. Objects come from the
/// directories named here.
class Git {
 public:
  /// Fails with Internal when the scratch directory cannot be made.
  static std::expected<Git, Error> create();

  /// Where new objects go and which directories lend theirs. A lender is read by its own alternates too, so it must be
  /// ours or a view (see Source).
  void setObjects(std::string directory, const std::vector<std::string>& lenders);
  void setWorkTree(std::string directory) { work_tree_ = std::move(directory); }
  void setIndex(std::string file) { index_ = std::move(file); }

  /// The bare directory; removed with this object.
  [[nodiscard]] const std::string& directory() const { return scratch_.path(); }

  struct Call {
    std::vector<std::string> arguments;
    std::string_view input;                  ///< standard input, unless `stdin_fd`
    int stdin_fd = -1;                       ///< not closed
    int stdout_fd = -1;                      ///< not closed; -1: kept in Result::out or handed to `sink`
    std::size_t output_limit = 1024 * 1024;  ///< bytes kept in Result::out
    std::uint64_t file_limit = 0;            ///< largest file it may write, in bytes; 0: none
    /// Gets the output piece by piece instead of Result::out; false ends the run.
    std::function<bool(std::string_view)> sink;
  };
  struct Result {
    int status = 0;    ///< its exit status, or 128 + the signal that ended it
    std::string out;   ///< standard output, at most `output_limit`
    std::string err;   ///< standard error, the first 8 KiB, made printable
    bool cut = false;  ///< output went over `output_limit`, or the sink said no; git was stopped then
    [[nodiscard]] bool ok() const { return status == 0 && !cut; }
  };
  /// Internal when git could not be started at all.
  [[nodiscard]] std::expected<Result, Error> run(const Call& call) const;

  /// run() that must succeed; otherwise Internal with git's words, or TooLarge when a limit was met.
  [[nodiscard]] std::expected<std::string, Error> output(const Call& call) const;
  [[nodiscard]] std::expected<std::string, Error> output(std::vector<std::string> arguments,
                                                         std::string_view input = {},
                                                         std::size_t limit = 1024 * 1024) const;

 private:
  Git() = default;
  [[nodiscard]] std::vector<std::string> environment() const;

  Scratch scratch_;
  std::string objects_;
  std::string lenders_;
  std::string work_tree_;
  std::string index_;
};

/// Forty lower-case hexadecimal digits.
bool isObjectId(std::string_view text);

inline constexpr std::string_view kZeroId = "0000000000000000000000000000000000000000";

}  // namespace coffer::repository
