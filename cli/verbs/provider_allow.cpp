#include <algorithm>
#include <format>
#include <memory>
#include <string>
#include <vector>

#include "model/visible_text.hpp"
#include "provider_key.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  std::vector<std::string> spenders;
};

/// The list as it is after these were added or taken away; the others keep their place.
std::vector<std::string> listAfter(std::vector<std::string> list, const std::vector<std::string>& named, bool allow) {
  for (const auto& name : named) {
    const auto found = std::ranges::find(list, name);
    if (allow && found == list.end()) list.push_back(name);
    if (!allow && found != list.end()) list.erase(found);
  }
  return list;
}

Outcome change(Session& session, const Options& options, bool allow) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto provider = chooseProvider(session, **bus, options.name, Whose::Machine);
  if (!provider) return std::unexpected(provider.error());
  const auto before = textsOf(provider->properties, "Spenders");
  if (!allow)
    for (const auto& name : options.spenders)
      if (std::ranges::find(before, name) == before.end())
        return failure(ExitCode::NotFound,
                       std::format("{} is not among those who may spend the key of {}.", name, options.name),
                       session.command("provider list"));
  const auto list = listAfter(before, options.spenders, allow);
  auto call = changeOptions();
  call.emplace("spenders", sdbus::Variant(list));
  const auto client = (*bus)->provider(provider->path);
  session.during("Changing who may spend the key", [&] { client->set(call); });
  if (session.json()) {
    session.print(Json().add("Path", provider->path).add("Spenders", list));
    return ExitCode::Done;
  }
  std::string names;
  for (const auto& name : list)
    names += (names.empty() ? "" : ", ") + name;
  session.print(std::format("The key of {} may be spent by {}; it counts from the next turn of a task.\n",
                            model::visibleText(options.name), names.empty() ? "nobody" : model::visibleText(names)));
  return ExitCode::Done;
}

}  // namespace

void addProviderAllow(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "allow", "Lets users and groups spend the key of a provider of the machine",
            {"provider allow openai alice", "provider allow openai %developers"});
  verb.option("NAME", options->name, "Its name").required();
  verb.words("WHO", options->spenders, "Users, and groups with a % before them, as in sudoers").required();
  verb.runs([options](Session& session) { return change(session, *options, true); });
}

void addProviderDeny(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "deny", "Takes users and groups off that list again", {"provider deny openai alice"});
  verb.option("NAME", options->name, "Its name").required();
  verb.words("WHO", options->spenders, "Users and groups as the list names them").required();
  verb.runs([options](Session& session) { return change(session, *options, false); });
}

}  // namespace coffer::cli
