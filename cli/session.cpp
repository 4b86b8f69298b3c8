#include "session.hpp"

#include <chrono>

#include <unistd.h>

#include "model/visible_text.hpp"

namespace coffer::cli {

Session::Session(GlobalOptions options, Terminal terminal)
    : options_(std::move(options)), terminal_(terminal), paint_(terminal.colour) {}

std::expected<Connection*, Failure> Session::connect() {
  if (!connection_) {
    const auto what = options_.host.empty() ? std::string("Connecting") : "Connecting to " + options_.host;
    auto opened =
        during(model::visibleText(what), [&] { return Connection::open(options_.host, options_.askPassword); });
    if (!opened) return std::unexpected(std::move(opened.error()));
    connection_ = std::move(*opened);
  }
  return connection_.get();
}

std::expected<Connection*, Failure> Session::connectForChange() {
  startAgent();
  return connect();
}

bool Session::startAgent() {
  // An agent here could not answer for a process of another machine.
  if (!options_.askPassword || !options_.host.empty() || agent_) return false;
  agent_ = std::make_unique<PolkitAgent>();
  return agent_->running();
}

void Session::print(std::string_view text) const { writeAll(STDOUT_FILENO, text); }

void Session::print(const Json& json) const { print(json.text()); }

void Session::printTable(const Table& table) const { printLong(table.text(paint_, terminal_.width)); }

void Session::printLong(const std::string& text) const { page(text, terminal_, options_.pager); }

void Session::note(std::string_view text) const {
  if (!options_.json) writeAll(STDERR_FILENO, text);
}

Progress Session::progress(std::string what) const { return {std::move(what), terminal_.error && !options_.json}; }

void Session::sent() {
  if (!unsent_.empty()) unlink(unsent_.c_str());
  unsent_.clear();
}

std::string Session::command(std::string_view rest) const {
  return there(std::string("coffer ").append(rest), options_.host);
}

std::uint64_t currentTime() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<Microseconds>(now).count());
}

}  // namespace coffer::cli
