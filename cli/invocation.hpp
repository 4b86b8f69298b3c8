#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  // What the grammar fills with text, for parse().
  std::vector<std::string*> texts;
  std::vector<std::vector<std::string>*> lists;
};

/// The grammar of the whole command line; parsing with it fills `invocation`, which must outlive it.
std::unique_ptr<CLI::App> commandLine(Invocation& invocation);

/// Parses the words after the program's name with the grammar of this invocation. Every word reaches it as it was
/// typed, also one that the parser would take for a list ("[a, b]"). Throws CLI::ParseError, also for help.
void parse(CLI::App& app, Invocation& invocation, std::vector<std::string> words);

}  // namespace coffer::cli
