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
  std::string kind;
  std::string url;
  bool machine = false;
};

Outcome add(Session& session, const Options& options) {
  // The key first, so that a mistyped one leaves no provider without a key behind.
  auto key = readKey(session, options.name);
  if (!key) return std::unexpected(key.error());
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  auto call = changeOptions();
  if (!options.url.empty()) call.emplace("base-url", sdbus::Variant(options.url));
  if (options.machine) call.emplace("machine", sdbus::Variant(true));
  sdbus::ObjectPath path;
  {
    const auto progress = session.progress("Storing the key");
    path = (*bus)->manager().addProvider(options.name, options.kind, call);
    const auto provider = (*bus)->provider(path);
    try {
      provider->setKey(key->descriptor(), changeOptions());
    } catch (const sdbus::Error& error) {
      // A provider without a key is of no use, and its name would be in the way of the next attempt.
      try {
        provider->remove(changeOptions());
      } catch (const sdbus::Error&) {
        session.note(std::format("Provider {} is there but has no key.\n", model::visibleText(options.name)));
      }
      return std::unexpected(failureOf(error, std::nullopt, session.options().host));
    }
  }
  const auto provider = (*bus)->provider(path)->properties();
  if (session.json()) {
    session.print(Json::of(provider).add("Path", path));
    return ExitCode::Done;
  }
  session.print(std::format("Provider {} is {}; its key is stored and goes to {} only.\n",
                            model::visibleText(options.name), model::visibleText(textOf(provider, "Kind")),
                            model::visibleText(textOf(provider, "BaseUrl"))));
  session.note("next: " + session.command(options.machine ? "provider allow " + options.name + " USER" : "agent list") +
               "\n");
  return ExitCode::Done;
}

}  // namespace

void addProviderAdd(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "add",
            "Makes a provider of models; its key is read from standard input, never from an argument",
            {"provider add openai --kind openai < key",
             "provider add proxy --kind openai --url https://models.example.org/v1"});
  verb.option("NAME", options->name, "Its name: a-z, 0-9 and dashes").required();
  // Kinds are files of the machine, so only the service knows them all.
  verb.option("--kind", options->kind,
              "anthropic, openai or another file in providers/; or a protocol: openai-chat, openai-responses")
      .required();
  verb.option("--url", options->url, "Where requests go, by default the kind's public address");
  verb.flag("--machine", options->machine, "It belongs to the machine, not to you; needs an administrator");
  verb.runs([options](Session& session) { return add(session, *options); });
}

}  // namespace coffer::cli
