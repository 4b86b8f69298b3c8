#include "project_choice.hpp"

#include <cstdint>
#include <filesystem>
#include <format>
#include <vector>

#include <unistd.h>

#include "dbus/names.hpp"

namespace coffer::cli {

std::string directoryOf(const Dictionary& project) {
  const auto bytes = valueOf<std::vector<std::uint8_t>>(project, "Directory");
  std::string result(bytes.begin(), bytes.end());
  while (result.ends_with('\0'))
    result.pop_back();
  return result;
}

bool isWithin(const std::string& path, const std::string& directory) {
  if (directory.empty() || !path.starts_with(directory)) return false;
  return path.size() == directory.size() || directory.ends_with('/') || path[directory.size()] == '/';
}

std::expected<ObjectEntry, Failure> chooseProject(Session& session, Connection& bus, const std::string& name) {
  if (!name.empty()) {
    return session.during("Looking for the project", [&] {
      const auto path = bus.manager().getProject(name);
      return ObjectEntry{path, bus.project(path)->properties()};
    });
  }
  if (!session.options().host.empty())
    return usageFailure("Name the project with -p: a directory of this machine says nothing about those of another.",
                        session.command("project list"));
  std::error_code error;
  const auto here = std::filesystem::current_path(error).string();
  if (error) return failure(ExitCode::Failed, "The current directory cannot be read: " + error.message() + ".");
  std::optional<ObjectEntry> best;
  std::size_t length = 0;
  for (auto& project :
       session.during("Looking for the project", [&] { return bus.manager().objects(names::kProject); })) {
    // An administrator may see those of others, which are never meant by a directory.
    if (valueOf<std::uint32_t>(project.properties, "Owner") != getuid()) continue;
    const auto directory = directoryOf(project.properties);
    if (!isWithin(here, directory) || directory.size() < length) continue;
    length = directory.size();
    best = std::move(project);
  }
  if (!best)
    return failure(ExitCode::NotFound, "This directory belongs to no project; add it, or name one with -p.",
                   session.command("project add"));
  return std::move(*best);
}

}  // namespace coffer::cli
