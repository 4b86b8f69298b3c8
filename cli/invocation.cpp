#include "invocation.hpp"

#include <CLI/CLI.hpp>

#include "verb.hpp"
#include "verbs.hpp"
#include "version.hpp"

namespace coffer::cli {

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
  app->add_flag("--no-ask-password{false}", options.askPassword, "Never ask for a password");
  app->add_flag("--no-pager{false}", options.pager, "Never show long texts in a pager");
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
