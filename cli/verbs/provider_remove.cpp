#include <format>
#include <memory>
#include <string>

#include "model/visible_text.hpp"
#include "provider_key.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  bool yes = false;
};

Outcome remove(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto provider = chooseProvider(session, **bus, options.name);
  if (!provider) return std::unexpected(provider.error());
  if (!options.yes && session.terminal().input && !session.json() &&
      !confirm(std::format("Forget the provider {} and its key?", model::visibleText(options.name))))
    return failure(ExitCode::Failed, "Nothing was removed.");
  session.during("Forgetting the key", [&] { (*bus)->provider(provider->path)->remove(changeOptions()); });
  if (session.json())
    session.print(Json().add("Path", provider->path).add("Removed", true));
  else
    session.print(std::format("Provider {} and its key are removed.\n", model::visibleText(options.name)));
  return ExitCode::Done;
}

}  // namespace

void addProviderRemove(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "remove", "Forgets a provider and its key", {"provider remove openai"});
  verb.option("NAME", options->name, "Its name").required();
  verb.flag("-y,--yes", options->yes, "Do not ask");
  verb.runs([options](Session& session) { return remove(session, *options); });
}

}  // namespace coffer::cli
