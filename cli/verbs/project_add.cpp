#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <format>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assignment.hpp"
#include "model/visible_text.hpp"
#include "process.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string directory;
  std::string name;
  std::vector<std::string> build;
  std::vector<std::string> test;
  std::vector<std::string> agents;
  std::vector<std::string> policy;
  std::optional<std::uint64_t> rounds;
  std::optional<std::uint64_t> budget;
  std::string authorName;
  std::string authorEmail;
};

/// As many characters as a project's name may have.
constexpr std::size_t kNameLength = 31;

/// More submodules than these say nothing new.
constexpr std::size_t kSubmodulesShown = 8;

/// A name made of the directory's: lower case, dashes for what a name cannot have.
std::string nameFor(const std::string& directory) {
  std::string name;
  for (const char letter : std::filesystem::path(directory).filename().string()) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80 && std::isalnum(byte))
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && !name.ends_with('-'))
      name += '-';
  }
  name.resize(std::min(name.size(), kNameLength));
  while (name.ends_with('-'))
    name.pop_back();
  return name;
}

/// The directory as the service is to open it; on another machine it is left as it was typed.
std::expected<std::string, Failure> absolute(const Session& session, const std::string& typed) {
  if (!session.options().host.empty()) {
    if (typed.starts_with('/')) return typed;
    return usageFailure("With -H the directory has to be named in full, as it is on that machine.");
  }
  std::error_code error;
  const auto path = std::filesystem::canonical(typed.empty() ? "." : typed, error);
  if (error) return failure(ExitCode::NotFound, std::format("\"{}\" cannot be opened: {}.", typed, error.message()));
  // A directory below a work tree stands for its whole repository.
  if (const auto top = outputOf({"git", "rev-parse", "--show-toplevel"}, path.string()); top && !top->empty())
    return *top;
  return path.string();
}

/// Who the commits are made as: what was given, else what the user's own Git says, which alone knows all of their
/// configuration. Of a directory of another machine only what holds everywhere here is theirs.
std::expected<Dictionary, Failure> authorOf(const Session& session, const Options& options,
                                            const std::string& directory) {
  const bool here = session.options().host.empty();
  Dictionary author;
  for (const auto& [field, given] : {std::pair<std::string, const std::string&>("name", options.authorName),
                                     std::pair<std::string, const std::string&>("email", options.authorEmail)}) {
    auto value = given;
    // Where the directory cannot be entered the service says why; that must not read as if there were no name.
    for (const auto& place : {here ? directory : std::string("/"), std::string("/")})
      if (value.empty()) value = outputOf({"git", "config", "user." + field}, place).value_or("");
    if (!value.empty())
      author.emplace("author-" + field, sdbus::Variant(value));
    else if (!here)
      return usageFailure(std::format("Nobody says as whom to commit; give --author-{}.", field),
                          std::format("git config --global user.{} ...", field));
  }
  return author;
}

/// A checkout of ours has what is in the repository's objects, and those of a submodule are in another one.
void sayWhatIsEmpty(const Session& session, const std::string& directory) {
  // " 0f3c...d1 path (describe)", one a line
  const auto listed = outputOf({"git", "submodule", "status", "--cached"}, directory);
  if (!listed || listed->empty()) return;
  const auto lines = linesOf(*listed);
  session.note(
      std::format("{}; agents and checks find an empty folder there:\n",
                  lines.size() == 1 ? "It has 1 submodule" : std::format("It has {} submodules", lines.size())));
  for (std::size_t i = 0; i < lines.size() && i < kSubmodulesShown; ++i) {
    const auto path = lines[i].find(' ', 1);
    session.note("  " + model::visibleText(path == std::string_view::npos ? lines[i] : lines[i].substr(path + 1)) +
                 "\n");
  }
  if (lines.size() > kSubmodulesShown) session.note("  ...\n");
}

Outcome add(Session& session, const Options& options) {
  const auto directory = absolute(session, options.directory);
  if (!directory) return std::unexpected(directory.error());
  const auto name = options.name.empty() ? nameFor(*directory) : options.name;
  if (name.empty())
    return usageFailure("No name can be made of that directory's; give one.",
                        session.command("project add --name NAME"));
  const auto agents = parseAgents(options.agents, session.options().host);
  if (!agents) return std::unexpected(agents.error());
  const auto policy = parseAssignments(options.policy, "--policy", "landing=auto");
  if (!policy) return std::unexpected(policy.error());

  auto call = changeOptions();
  if (!options.build.empty()) call.emplace("build", sdbus::Variant(options.build));
  if (!options.test.empty()) call.emplace("test", sdbus::Variant(options.test));
  if (!agents->empty()) call.emplace("agents", sdbus::Variant(*agents));
  if (!policy->empty()) call.emplace("policy", sdbus::Variant(*policy));
  if (options.rounds) call.emplace("rounds", smallNumber(*options.rounds));
  if (options.budget) call.emplace("budget", sdbus::Variant(*options.budget));
  auto author = authorOf(session, options, *directory);
  if (!author) return std::unexpected(author.error());
  call.merge(*author);

  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  sdbus::ObjectPath path;
  {
    const auto progress = session.progress("Reading " + model::visibleText(*directory));
    path = (*bus)->manager().addProject(*directory, name, call);
  }
  const auto project = (*bus)->project(path)->properties();
  if (session.json()) {
    session.print(Json::of(project).add("Path", path));
    return ExitCode::Done;
  }
  session.print(std::format("Project {} is {} at {}.\n", name, model::visibleText(textOf(project, "DirectoryText")),
                            shortCommit(textOf(project, "Base"))));
  if (session.options().host.empty()) sayWhatIsEmpty(session, *directory);
  // Without a command there is nothing to check, and a task would be refused.
  const bool checked = !options.build.empty() || !options.test.empty();
  if (!checked) session.note("It has no command that builds or tests it yet, and a task needs one.\n");
  session.note("next: " +
               session.command(checked ? std::format("new -p {} \"...\"", name)
                                       : std::format("project set {} --test COMMAND", name)) +
               "\n");
  return ExitCode::Done;
}

}  // namespace

void addProjectAdd(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "add", "Makes a project of a Git work tree",
            {"project add --test 'make test'", "project add ~/src/zlib --name zlib --build 'cmake -B b' --test 'ctest'",
             "-H build.example.org project add /home/me/zlib --test 'make test' --author-email me@example.org"});
  verb.option("DIR", options->directory, "The work tree, by default the one of the current directory");
  verb.option("--name", options->name, "Its name, by default the directory's: a-z, 0-9 and dashes");
  verb.option("--build", options->build, "Command that builds it, run with sh -c in a fresh checkout");
  verb.option("--test", options->test, "Command that tests it, run after the build commands");
  verb.option("--agent", options->agents, "ROLE=AGENT[:MODEL] for planner, writer or reviewer");
  verb.option("--policy", options->policy, "WHERE=ask|auto for plan, risky and landing (also branch)");
  verb.option("--rounds", options->rounds, "How many fix rounds a task has");
  verb.option("--budget", options->budget, "How many tokens a task may cost; 0: no limit");
  verb.option("--author-name", options->authorName, "Who its commits are made as, by default as your Git says");
  verb.option("--author-email", options->authorEmail, "The address that belongs to that name");
  verb.runs([options](Session& session) { return add(session, *options); });
}

}  // namespace coffer::cli
