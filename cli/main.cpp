#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "invocation.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"

namespace coffer::cli {

namespace {

Json objectOf(const Failure& failure) {
  Json error;
  error.add("Name", failure.name).add("Message", failure.message).add("Next", failure.next);
  error.add("ExitCode", std::uint64_t{static_cast<unsigned>(std::to_underlying(failure.exit))});
  Json object;
  object.add("Error", std::move(error));
  return object;
}

ExitCode report(const Session& session, Failure failure) {
  if (!session.unsent().empty()) failure.message += whereWritten(session.unsent());
  if (session.json()) session.print(objectOf(failure));
  const bool colour = session.terminal().error && session.terminal().colour;
  const Paint paint(colour);
  std::string text = paint(Tone::Bad, "coffer:") + " " + model::visibleText(failure.message) + "\n";
  if (!failure.next.empty()) text += paint(Tone::Faint, "  next: ") + failure.next + "\n";
  writeAll(STDERR_FILENO, text);
  return failure.exit;
}

ExitCode run(const Invocation& invocation) {
  Session session(invocation.options, Terminal::detect());
  try {
    const auto outcome = invocation.run(session);
    return outcome ? *outcome : report(session, outcome.error());
  } catch (const sdbus::Error& error) {
    return report(session, failureOf(error, session.task(), session.options().host));
  } catch (const std::exception& error) {
    return report(session, {ExitCode::Failed, {}, error.what(), {}});
  }
}

/// What the parser says of a command line that makes no sense; also asked for help and the version.
ExitCode answerParser(const CLI::App& app, const CLI::ParseError& error, std::span<char* const> words) {
  // Nothing was parsed, so what was asked for is looked for by hand.
  bool json = false;
  for (const std::string_view word : words) {
    if (word == "--") break;
    json = json || word == "--json";
  }
  // Help and version are "errors" of value 0 to the parser.
  if (app.exit(error) == 0) return ExitCode::Done;
  if (json)
    writeAll(STDOUT_FILENO, objectOf({ExitCode::Usage, "InvalidArgument", error.what(), "coffer --help"}).text());
  return ExitCode::Usage;
}

}  // namespace

}  // namespace coffer::cli

int main(int argc, char** argv) {
  // A pager that was left is no reason to die without a word.
  std::signal(SIGPIPE, SIG_IGN);
  using coffer::ExitCode;
  coffer::cli::Invocation invocation;
  const auto app = coffer::cli::commandLine(invocation);
  try {
    coffer::cli::parse(*app, invocation, {argv + std::min(argc, 1), argv + argc});
  } catch (const CLI::ParseError& error) {
    return std::to_underlying(coffer::cli::answerParser(*app, error, {argv, static_cast<std::size_t>(argc)}));
  }
  return std::to_underlying(coffer::cli::run(invocation));
}
