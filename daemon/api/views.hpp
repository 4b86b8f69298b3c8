#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "api/value.hpp"

/// What can be read, as plain values. Each field is the property or key of the same name in dbus/*.xml, where its
/// meaning and unit are. Times are microseconds of CLOCK_REALTIME.
namespace coffer::api {

using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;

struct ManagerView {
  Strings backends;
  Dictionary features;
  std::uint32_t waiting = 0;
  std::uint32_t running = 0;
  Strings configurationProblems;
};

struct ProjectView {
  std::uint64_t id = 0;
  std::string name;
  uid_t owner = 0;
  std::string directory;  ///< bytes
  std::string authorName;
  std::string authorEmail;
  std::string base;
  Strings build;
  Strings test;
  std::uint64_t budget = 0;
  std::uint32_t rounds = 0;
  StringMap policy;
  StringMap agents;
  StringMap networks;
};

struct TaskView {
  using Waiting = std::tuple<std::string, std::string, std::uint64_t>;  ///< code, words, until
  /// role, protocol, address, name, port, reason, count
  using Refusal =
      std::tuple<std::string, std::string, std::string, std::string, std::uint16_t, std::string, std::uint64_t>;
  using Landed = std::tuple<std::string, std::string, std::string>;  ///< commit, branch, where

  std::uint64_t id = 0;
  std::uint64_t project = 0;
  std::string projectName;
  uid_t owner = 0;
  std::string title;
  std::string state;
  std::string parked;
  Waiting waiting;
  std::string flow;
  StringMap agents;
  StringMap policy;
  std::uint32_t round = 0;
  std::uint32_t rounds = 0;
  std::string landingStyle;
  std::string base;
  std::string baseBranch;
  std::string candidate;
  std::string planDigest;
  std::string workDigest;
  std::vector<std::tuple<std::string, std::string>> pending;  ///< kind, digest
  std::string question;
  Strings actions;
  std::tuple<std::string, std::string> problem;  ///< an error's short name, words
  std::map<std::string, std::uint64_t> usage;
  std::uint64_t budget = 0;
  std::int64_t costMicro = -1;
  std::vector<Refusal> refusals;
  std::string slice;
  std::uint64_t created = 0;
  std::uint64_t changed = 0;
  std::uint64_t sequence = 0;
  std::vector<Landed> landed;
  bool deleted = false;  ///< only a line of history is left
};

struct AgentView {
  std::string name;
  std::string executable;
  bool installed = false;
  std::string problem;
  std::string protocol;
  std::uint32_t running = 0;
};

struct AgentTestView {
  bool answered = false;
  std::string answer;
  std::string session;
  bool resumed = false;
  std::string resumedAnswer;
  std::string outcome;
  std::string problem;
  std::uint64_t input = 0;  ///< tokens
  std::uint64_t cached = 0;
  std::uint64_t output = 0;
  std::uint64_t requests = 0;
};

struct ProviderView {
  std::uint64_t id = 0;
  std::string name;
  uid_t owner = 0;
  bool machine = false;
  std::string kind;
  std::string baseUrl;
  Strings spenders;
  bool hasKey = false;
  std::string keyHint;
  std::string problem;
};

struct EventView {
  std::uint64_t sequence = 0;
  std::uint64_t task = 0;
  std::uint64_t time = 0;
  std::string type;
  Dictionary fields;
};

struct RunView {
  std::uint64_t id = 0;
  std::string kind;
  std::string role;
  std::string agent;
  std::string model;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::string unit;
  std::uint64_t conversation = 0;
  std::uint64_t started = 0;
  std::uint64_t ended = 0;  ///< 0 while it runs
  std::string result;
  std::int32_t code = 0;
  std::string text;
  std::map<std::string, std::uint64_t> usage;
};

struct FindingView {
  std::string id;
  std::uint32_t round = 0;
  std::string source;
  std::string severity;
  bool blocking = false;
  std::string path;
  std::uint64_t line = 0;
  std::string title;
  std::string text;
};

struct CheckView {
  std::string name;
  std::string state;    ///< ok, warning, failed
  std::string text;     ///< what was found
  std::string problem;  ///< what is wrong; empty when nothing is
  std::string remedy;   ///< what mends it
};

}  // namespace coffer::api
