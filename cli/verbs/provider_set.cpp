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
  std::string url;
  bool machine = false;
};

Outcome set(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto chosen = chooseProvider(session, **bus, options.name, options.machine ? Whose::Machine : Whose::Own);
  if (!chosen) return std::unexpected(chosen.error());
  auto call = changeOptions();
  call.emplace("base-url", sdbus::Variant(options.url));
  const auto client = (*bus)->provider(chosen->path);
  session.during("Changing the provider", [&] { client->set(call); });
  const auto provider = client->properties();
  if (session.json()) {
    session.print(Json::of(provider).add("Path", chosen->path));
    return ExitCode::Done;
  }
  const auto name = model::visibleText(options.name);
  session.print(std::format("Requests of {} go to {}.\n", name, model::visibleText(textOf(provider, "BaseUrl"))));
  // A key is for the one address it was given for.
  if (!valueOf<bool>(provider, "HasKey")) {
    session.note("It has no key for that address: one that was there is forgotten.\n");
    session.note("next: " + session.command("provider key " + name) + "\n");
  }
  return ExitCode::Done;
}

}  // namespace

void addProviderSet(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "set", "Changes where a provider's requests go; another address forgets its key",
            {"provider set mine --url https://models.example.org/v1"});
  verb.option("NAME", options->name, "Its name").required();
  verb.option("--url", options->url, "Where requests go").required();
  verb.flag("--machine", options->machine, "The machine's, where you have one of that name too");
  verb.runs([options](Session& session) { return set(session, *options); });
}

}  // namespace coffer::cli
