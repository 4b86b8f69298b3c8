#include <algorithm>
#include <charconv>
#include <format>
#include <memory>
#include <string>
#include <vector>

#include <glib.h>

#include "model/limits.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::vector<std::string> words;
};

std::optional<std::uint64_t> numberIn(const std::string& word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

Outcome reply(Session& session, const Options& options) {
  TaskOption option;
  auto words = options.words;
  if (!words.empty()) option.id = numberIn(words.front());
  if (option.id) words.erase(words.begin());

  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option);
  if (!task) return std::unexpected(task.error());
  const auto properties = (*task)->properties();
  const TaskView view(properties);

  std::string text;
  if (words.empty() || words == std::vector<std::string>{"-"}) {
    const auto question = model::visibleText(textOf(properties, "Question"));
    const bool edit = words.empty() && session.terminal().input;
    if (edit) {
      auto written = readFromEditor(
          view.name() + "\n" + (question.empty() ? "Say what should be otherwise." : question), limits::kTextBytes);
      if (!written) return std::unexpected(written.error());
      session.unsent(std::move(written->file));
      text = std::move(written->text);
    } else {
      auto read = readInput(limits::kTextBytes);
      if (!read) return std::unexpected(read.error());
      text = std::move(*read);
    }
    while (text.ends_with('\n'))
      text.pop_back();
  } else {
    for (const auto& word : words)
      text += (text.empty() ? "" : " ") + word;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return usageFailure("The reply is empty.", session.command(std::format("reply {} \"...\"", view.id)));
  if (!g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr)) return notText("reply");
  {
    const auto progress = session.progress("Sending the reply");
    (*task)->reply(text, changeOptions());
  }
  session.sent();
  if (session.json()) {
    session.print(Json().add("Id", view.id));
    return ExitCode::Done;
  }
  session.print(std::format("Replied to task {}.\n", view.name()));
  session.note("next: " + session.command(std::format("watch {}", view.id)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addReply(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "reply",
            "Answers a question, or says what should be otherwise about a plan or about work",
            {"reply 17 \"Keep the old name as an alias\"", "reply \"Yes, both\"", "reply 17 - < answer.md"});
  verb.words("TEXT", options->words,
             "Number of the task, if it is not the only one that waits, and the text; - reads it from standard input, "
             "nothing opens an editor");
  verb.runs([options](Session& session) { return reply(session, *options); });
}

}  // namespace coffer::cli
