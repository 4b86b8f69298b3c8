#include <CLI/CLI.hpp>
#include <algorithm>
#include <format>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/names.hpp"
#include "format.hpp"
#include "invocation.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::vector<std::string> words;
};

struct Candidate {
  std::string word;
  std::string words;  ///< what it is
};
using Candidates = std::vector<Candidate>;

constexpr std::size_t kDescriptionColumns = 60;
constexpr std::size_t kTasksOffered = 100;

/// Where in the grammar the word to be completed stands.
struct Place {
  CLI::App* verb;
  CLI::Option* valueOf = nullptr;  ///< the option whose value it is
  std::string before;              ///< what of the word is the option itself ("--flow=")
  std::size_t argument = 0;        ///< how many arguments of the verb stand before it
  bool elsewhere = false;          ///< another machine is meant, which is not asked: ssh might want a password
};

bool takesValue(const CLI::Option& option) { return option.get_type_size() > 0; }

/// Whether a word names another machine, or says that the next one does.
bool namesHost(std::string_view word) {
  return word == "--host" || word.starts_with("--host=") || (word.starts_with("-H") && !word.starts_with("--"));
}

CLI::Option* optionOf(CLI::App& verb, const std::string& name) {
  for (auto* app = &verb; app != nullptr; app = app->get_parent())
    if (auto* option = app->get_option_no_throw(name)) return option;
  return nullptr;
}

Place placeOf(CLI::App& root, const std::vector<std::string>& words) {
  Place place{.verb = &root};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto& word = words[i];
    place.valueOf = nullptr;
    place.elsewhere = place.elsewhere || namesHost(word);
    if (word.size() > 1 && word.starts_with('-')) {
      auto* option = optionOf(*place.verb, word);
      if (option == nullptr || !takesValue(*option)) continue;
      if (i + 2 == words.size())
        place.valueOf = option;
      else
        ++i;
      continue;
    }
    const auto verbs = place.verb->get_subcommands([&word](const CLI::App* each) { return each->get_name() == word; });
    if (!verbs.empty() && place.argument == 0)
      place.verb = verbs.front();
    else
      ++place.argument;
  }
  const auto equals = words.back().find('=');
  if (place.valueOf == nullptr && words.back().starts_with("--") && equals != std::string::npos) {
    place.valueOf = optionOf(*place.verb, words.back().substr(0, equals));
    place.before = words.back().substr(0, equals + 1);
  }
  return place;
}

Candidates tasks(Session& session, bool endedToo) {
  auto bus = session.connect();
  if (!bus) return {};
  Dictionary filter;
  if (!endedToo) filter.emplace("ended", sdbus::Variant(false));
  Candidates found;
  const auto [rows, next] = (*bus)->manager().listTasks(filter, 0, kTasksOffered);
  for (const auto& row : rows)
    found.push_back({std::to_string(numberOf(row, "Id")), textOf(row, "ProjectName") + ": " + textOf(row, "Title")});
  return found;
}

Candidates objects(Session& session, std::string_view interface) {
  auto bus = session.connect();
  if (!bus) return {};
  Candidates found;
  for (const auto& [path, properties] : (*bus)->manager().objects(interface))
    found.push_back({textOf(properties, "Name"), {}});
  return found;
}

/// What the service says that a provider can be.
Candidates kinds(Session& session) {
  auto bus = session.connect();
  if (!bus) return {};
  const auto features = valueOf<Dictionary>((*bus)->manager().properties(), "Features");
  Candidates found;
  for (const auto& kind : textsOf(features, "provider-kinds"))
    found.push_back({kind, {}});
  return found;
}

Candidates fixed(std::initializer_list<const char*> words) {
  Candidates found;
  for (const auto* word : words)
    found.push_back({word, {}});
  return found;
}

/// The values that something of this name can have on every machine.
std::optional<Candidates> valuesAnywhere(const std::string& name) {
  if (name == "agent") return fixed({"planner=", "writer=", "reviewer="});
  if (name == "flow") return fixed({"single", "executor", "review", "supervisor"});
  if (name == "policy") return fixed({"plan=", "risky=", "landing="});
  if (name == "state")
    return fixed({"queued", "planning", "plan-ready", "writing", "verifying", "reviewing", "ready", "landing", "landed",
                  "done", "failed", "cancelled"});
  return std::nullopt;
}

/// The values that something of this name can have.
Candidates valuesOf(Session& session, const std::string& name, const Place& place) {
  const auto& verb = *place.verb;
  if (const auto words = valuesAnywhere(name)) return *words;
  if (place.elsewhere) return {};
  const auto group = verb.get_parent() == nullptr ? std::string() : verb.get_parent()->get_name();
  if (name == "TASK" || name == "TEXT") {
    const auto& looks = verb.get_name();
    return tasks(session, looks == "show" || looks == "log" || looks == "delete" || looks == "retry");
  }
  if (name == "project" || (name == "NAME" && group == "project")) return objects(session, names::kProject);
  if (name == "provider" || (name == "NAME" && group == "provider")) return objects(session, names::kProvider);
  if (name == "NAME" && group == "agent") return objects(session, names::kAgent);
  if (name == "kind") return kinds(session);
  return {};
}

Candidates candidates(Session& session, CLI::App& root, const std::vector<std::string>& words) {
  const auto place = placeOf(root, words);
  if (place.valueOf != nullptr) {
    auto found = valuesOf(session, place.valueOf->get_single_name(), place);
    for (auto& candidate : found)
      candidate.word.insert(0, place.before);
    return found;
  }
  Candidates found;
  if (words.back().starts_with('-')) {
    for (const auto* app = place.verb; app != nullptr; app = app->get_parent())
      for (const auto* option : app->get_options())
        for (const auto& name : option->get_lnames())
          found.push_back({"--" + name, option->get_description()});
    return found;
  }
  if (place.argument == 0)
    for (const auto* verb :
         place.verb->get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
      found.push_back({verb->get_name(), verb->get_description()});
  std::size_t argument = 0;
  for (const auto* option : place.verb->get_options())
    if (option->get_positional() && argument++ == place.argument)
      std::ranges::copy(valuesOf(session, option->get_single_name(), place), std::back_inserter(found));
  return found;
}

Outcome complete(Session& session, const Options& options) {
  auto words = options.words;
  if (words.empty()) words.emplace_back();
  Invocation invocation;
  const auto app = commandLine(invocation);
  std::string text;
  for (const auto& [word, description] : candidates(session, *app, words)) {
    if (!word.starts_with(words.back())) continue;
    text += model::visibleText(word);
    if (!description.empty()) text += "\t" + fitted(firstLine(model::visibleText(description)), kDescriptionColumns);
    text += "\n";
  }
  session.print(text);
  return ExitCode::Done;
}

}  // namespace

void addComplete(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "complete", "What the last of these words of a command line could be, for shells",
            {"complete -- project a"});
  verb.words("WORD", options->words, "The words after coffer; the last may be empty");
  verb.hidden();
  verb.runs([options](Session& session) { return complete(session, *options); });
}

}  // namespace coffer::cli
