#include "invocation.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "verb.hpp"
#include "verbs.hpp"
#include "version.hpp"

namespace coffer::cli {

namespace {

/// Whether the parser would read this word, without the spaces before it, as a list or as an empty one.
bool readsAsList(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  return (word.starts_with('[') && word.ends_with(']')) || word == "{}" || word == "%%";
}

void restore(std::string& word) {
  if (word.starts_with(' ') && readsAsList(word)) word.erase(0, 1);
}

}  // namespace

void parse(CLI::App& app, Invocation& invocation, std::vector<std::string> words) {
  // One space more before each such word, whether or not it begins with one, is taken off again without loss.
  for (auto& word : words)
    if (readsAsList(word)) word.insert(0, 1, ' ');
  std::ranges::reverse(words);
  app.parse(std::move(words));
  for (auto* text : invocation.texts)
    restore(*text);
  for (auto* list : invocation.lists)
    std::ranges::for_each(*list, restore);
}

std::unique_ptr<CLI::App> commandLine(Invocation& invocation) {
  auto app = std::make_unique<CLI::App>(
      "Gives work to coding agents in sealed sandboxes and brings back commits that were checked.\n"
      "Without a command: what waits for you and what goes on.",
      "coffer");
  auto& options = invocation.options;
  // Options of everything may also stand after the verb. At most one verb: the next word is an argument, whatever it
  // looks like.
  app->fallthrough();
  app->require_subcommand(0, 1);
  app->set_version_flag("--version", std::string("coffer ") + kVersion);
  app->add_flag("--json", options.json, "One JSON object instead of text, with the names of the bus");
  app->add_option("-H,--host", options.host, "The service of another machine, over ssh: [USER@]HOST");
  invocation.texts.push_back(&options.host);
  app->add_flag_callback("--no-ask-password", [&options] { options.askPassword = false; }, "Never ask for a password");
  app->add_flag_callback("--no-pager", [&options] { options.pager = false; }, "Never show long texts in a pager");
  app->footer(
      "Examples:\n  coffer project add --test 'make test'\n  coffer new \"Fix the overflow in inflate\"\n  coffer "
      "watch");

  addNew(*app, invocation);
  addList(*app, invocation);
  addUi(*app, invocation);
  addShow(*app, invocation);
  addWatch(*app, invocation);
  addPlan(*app, invocation);
  addDiff(*app, invocation);
  addReview(*app, invocation);
  addAccept(*app, invocation);
  addReply(*app, invocation);
  addRetry(*app, invocation);
  addLog(*app, invocation);
  addCancel(*app, invocation);
  addDelete(*app, invocation);

  auto& project =
      Verb(*app, invocation, "project", "Repositories that tasks work on", {"project add", "project list"}).group();
  addProjectAdd(project, invocation);
  addProjectList(project, invocation);
  addProjectSet(project, invocation);
  addProjectShow(project, invocation);
  addProjectRemove(project, invocation);

  auto& provider =
      Verb(*app, invocation, "provider", "Where models are asked, and with whose key", {"provider list"}).group();
  addProviderAdd(provider, invocation);
  addProviderKey(provider, invocation);
  addProviderAllow(provider, invocation);
  addProviderDeny(provider, invocation);
  addProviderList(provider, invocation);
  addProviderSet(provider, invocation);
  addProviderRemove(provider, invocation);

  auto& agent = Verb(*app, invocation, "agent", "Coding agents that this machine knows", {"agent list"}).group();
  addAgentList(agent, invocation);
  addAgentTest(agent, invocation);

  addDoctor(*app, invocation);
  addNotify(*app, invocation);
  addComplete(*app, invocation);

  invocation.run = overview;
  return app;
}

}  // namespace coffer::cli
