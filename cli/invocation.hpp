#pragma once

#include <functional>
#include <memory>

#include "failure.hpp"
#include "session.hpp"

namespace CLI {
class App;
}

namespace coffer::cli {

/// What a parsed command line asks for. Parsing touches neither the bus nor the terminal.
struct Invocation {
  GlobalOptions options;
  std::function<Outcome(Session&)> run;
};

/// The grammar of the whole command line; parsing with it fills `invocation`, which must outlive it.
std::unique_ptr<CLI::App> commandLine(Invocation& invocation);

}  // namespace coffer::cli
