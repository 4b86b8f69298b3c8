#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "connection.hpp"
#include "format.hpp"
#include "json_output.hpp"
#include "polkit_agent.hpp"
#include "progress.hpp"
#include "terminal.hpp"

namespace coffer::cli {

/// What can be given before and after every verb.
struct GlobalOptions {
  bool json = false;
  std::string host;         ///< what ssh calls the other machine, or empty
  bool askPassword = true;  ///< whether polkit may ask
  bool pager = true;
};

/// One run of the command line: its terminal, its options and, once something needs it, its connection.
class Session {
 public:
  Session(GlobalOptions options, Terminal terminal);

  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  [[nodiscard]] const Terminal& terminal() const { return terminal_; }
  [[nodiscard]] const Paint& paint() const { return paint_; }
  [[nodiscard]] bool json() const { return options_.json; }

  /// The bus, for reading.
  std::expected<Connection*, Failure> connect();
  /// The bus, for a call that may need a password: starts polkit's agent on this terminal.
  std::expected<Connection*, Failure> connectForChange();
  /// Starts polkit's agent on this terminal, for a call that is then made again; false when that would change nothing:
  /// it was there before, or nobody can be asked.
  bool startAgent();

  /// Standard output. Whoever calls has made texts of agents visible.
  void print(std::string_view text) const;
  void print(const Json& json) const;
  /// Standard output through a pager, where that makes sense.
  void printTable(const Table& table) const;
  void printLong(const std::string& text) const;
  /// Standard error, for people: not with --json, not part of the result.
  void note(std::string_view text) const;
  /// Says what a long call does, while it lives.
  [[nodiscard]] Progress progress(std::string what) const;
  /// What `work` gives; `what` it does is said while it lasts.
  template <typename Work>
  auto during(std::string what, Work work) const {
    const auto shown = progress(std::move(what));
    return work();
  }

  /// The task this is about, for what to do next when it fails.
  void about(std::uint64_t task) { task_ = task; }
  [[nodiscard]] std::optional<std::uint64_t> task() const { return task_; }

  /// What was written in an editor is in this file until the service has taken it; a failure until then names it.
  void unsent(std::string file) { unsent_ = std::move(file); }
  [[nodiscard]] const std::string& unsent() const { return unsent_; }
  /// It was taken.
  void sent();

  /// "coffer", with -H when that was given: the beginning of every command that is proposed.
  [[nodiscard]] std::string command(std::string_view rest) const;

 private:
  GlobalOptions options_;
  Terminal terminal_;
  Paint paint_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PolkitAgent> agent_;
  std::optional<std::uint64_t> task_;
  std::string unsent_;
};

/// Microseconds of CLOCK_REALTIME.
std::uint64_t currentTime();

}  // namespace coffer::cli
