#include <string>
#include <vector>

#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

/// Whose it is; for the machine's, who may spend it.
std::string whose(const Dictionary& provider) {
  if (!valueOf<bool>(provider, "Machine")) return "you";
  std::string names;
  for (const auto& name : textsOf(provider, "Spenders"))
    names += (names.empty() ? "machine, for " : ", ") + model::visibleText(name);
  return names.empty() ? "machine, for nobody" : names;
}

Outcome list(Session& session) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto providers =
      session.during("Looking for providers", [&] { return (*bus)->manager().objects(names::kProvider); });
  if (session.json()) {
    std::vector<Json> entries;
    for (const auto& provider : providers)
      entries.push_back(std::move(Json::of(provider.properties).add("Path", provider.path)));
    session.print(Json().add("Providers", std::move(entries)));
    return ExitCode::Done;
  }
  if (providers.empty()) {
    session.note("There are no providers.\nnext: " + session.command("provider add openai --kind openai") + "\n");
    return ExitCode::Done;
  }
  Table table({{"NAME"}, {"KIND"}, {"OF"}, {"KEY"}, {"ADDRESS"}});
  for (const auto& [path, provider] : providers) {
    const bool has = valueOf<bool>(provider, "HasKey");
    const auto hint = model::visibleText(textOf(provider, "KeyHint"));
    const auto problem = model::visibleText(textOf(provider, "Problem"));
    table.add({{model::visibleText(textOf(provider, "Name")), Tone::Strong},
               {model::visibleText(textOf(provider, "Kind"))},
               {whose(provider)},
               {has ? (hint.empty() ? "stored" : "..." + hint) : "none", has ? Tone::Plain : Tone::Attention},
               {model::visibleText(textOf(provider, "BaseUrl")) + (problem.empty() ? "" : "  " + firstLine(problem))}});
  }
  session.printTable(table);
  return ExitCode::Done;
}

}  // namespace

void addProviderList(CLI::App& parent, Invocation& invocation) {
  Verb verb(parent, invocation, "list", "Your providers and the machine's", {"provider list"});
  verb.runs(list);
}

}  // namespace coffer::cli
