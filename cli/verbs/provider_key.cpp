#include "provider_key.hpp"

#include <format>
#include <memory>
#include <string>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome setKey(Session& session, const std::string& name) {
  const auto key = readKey(session, name);
  if (!key) return std::unexpected(key.error());
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto provider = chooseProvider(session, **bus, name);
  if (!provider) return std::unexpected(provider.error());
  {
    const auto progress = session.progress("Storing the key");
    (*bus)->provider(provider->path)->setKey(key->descriptor(), changeOptions());
  }
  if (session.json())
    session.print(Json().add("Path", provider->path).add("HasKey", true));
  else
    session.print(std::format("Provider {} has a new key; running tasks use it from their next turn.\n",
                              model::visibleText(name)));
  return ExitCode::Done;
}

}  // namespace

void addProviderKey(CLI::App& parent, Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  Verb verb(parent, invocation, "key", "Gives a provider another key, read from standard input",
            {"provider key openai < key"});
  verb.option("NAME", *name, "Its name").required();
  verb.runs([name](Session& session) { return setKey(session, *name); });
}

}  // namespace coffer::cli
