#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/descriptor.hpp"
#include "dbus/error.hpp"
#include "workers/record.hpp"

namespace coffer::agents {

/// What one turn adds to a descriptor.
struct TurnInput {
  std::string model;     ///< [A-Za-z0-9._:/@+-]; empty only for an agent that needs no model
  std::string endpoint;  ///< base URL without a slash at the end, as seen in the sandbox: http://127.0.0.1:4180
  std::string dummyKey;  ///< the conversation's, worth nothing outside its gateway
  std::string session;   ///< empty: a new conversation
  std::string home;      ///< absolute, as seen in the sandbox
};

/// A turn's command as plain data: what becomes /task/in/command and /task/in/files/. No word of it comes from an agent
/// but the session, which is one word of argv and checked to be harmless there.
struct TurnCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  ///< complete: nothing is inherited
  std::vector<std::pair<std::string, std::string>> files;        ///< name below /task/in/files/, content

  /// `argv`, `env` (NAME=VALUE), `cwd` and `stdin` records, as the sandbox's init reads them.
  [[nodiscard]] Records toRecords(std::string_view workingDirectory, std::string_view standardInput) const;
};

/// Environment of everything that runs in a sandbox, agents and gate commands alike.
std::vector<std::pair<std::string, std::string>> sandboxEnvironment(std::string_view home);

/// Where `files` are inside the sandbox.
inline constexpr std::string_view kTurnFilesFolder = "/task/in/files";

/// Whether the agent can work on this model; empty: on one of its own choice. InvalidArgument where it needs a name, or
/// this cannot be one.
std::expected<void, Error> checkModel(const Descriptor& descriptor, std::string_view model);

/// Fills the descriptor in. InvalidArgument: a model, session or key that must not be a word of a command. A session on
/// a descriptor that cannot resume is Unsupported.
std::expected<TurnCommand, Error> buildTurnCommand(const Descriptor& descriptor, const TurnInput& input);

}  // namespace coffer::agents
