#include "configuration_problems.hpp"

#include <algorithm>
#include <set>

namespace coffer::cli {

std::vector<std::string> configurationProblems(Connection& bus) {
  return textsOf(bus.manager().properties(), "ConfigurationProblems");
}

std::vector<std::string> problemsOf(const std::vector<std::string>& problems, std::string_view kind,
                                    std::string_view name) {
  const auto file = "/" + std::string(kind) + "/" + std::string(name) + ".";
  std::vector<std::string> found;
  std::ranges::copy_if(problems, std::back_inserter(found),
                       [&](const std::string& problem) { return problem.substr(0, problem.find(':')).contains(file); });
  return found;
}

std::vector<std::string> namesWithProblems(const std::vector<std::string>& problems, std::string_view kind) {
  const auto folder = "/" + std::string(kind) + "/";
  std::set<std::string> names;
  for (const auto& problem : problems) {
    const auto file = problem.substr(0, problem.find(':'));
    const auto at = file.rfind(folder);
    if (at == std::string::npos) continue;
    const auto name = file.substr(at + folder.size());
    names.insert(name.substr(0, name.rfind('.')));
  }
  return {names.begin(), names.end()};
}

}  // namespace coffer::cli
