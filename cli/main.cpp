#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <utility>

#include "invocation.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"

namespace coffer::cli {

namespace {

ExitCode report(const Session& session, const Failure& failure) {
  if (session.json()) {
    Json error;
    error.add("Name", failure.name).add("Message", failure.message).add("Next", failure.next);
    error.add("ExitCode", std::uint64_t{static_cast<unsigned>(std::to_underlying(failure.exit))});
    session.print(Json().add("Error", std::move(error)));
  }
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

}  // namespace

}  // namespace coffer::cli

int main(int argc, char** argv) {
  // A pager that was left is no reason to die without a word.
  std::signal(SIGPIPE, SIG_IGN);
  using coffer::ExitCode;
  coffer::cli::Invocation invocation;
  const auto app = coffer::cli::commandLine(invocation);
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of value 0 to the parser.
    return app->exit(error) == 0 ? std::to_underlying(ExitCode::Done) : std::to_underlying(ExitCode::Usage);
  }
  return std::to_underlying(coffer::cli::run(invocation));
}
