#include "agents/configuration.hpp"

#include <algorithm>
#include <array>

#include "agents/data_files.hpp"
#include "agents/toml_reader.hpp"
#include "model/spelling.hpp"

namespace coffer::agents {
namespace {

struct Number {
  std::string_view key;
  std::uint64_t Configuration::* member;
  std::int64_t least;
  std::int64_t most;
};

constexpr std::array kNumbers = std::to_array<Number>({
    {"turn-minutes", &Configuration::turnMinutes, 1, 24 * 60},
    {"gate-minutes", &Configuration::gateMinutes, 1, 24 * 60},
    {"rounds", &Configuration::rounds, 0, limits::kRoundsMost},
    {"tasks-at-once", &Configuration::tasksAtOnce, 0, 1000},
    {"task-image-mib", &Configuration::taskImageMib, 64, 1024 * 1024},
    {"output-image-mib", &Configuration::outputImageMib, 8, 64 * 1024},
    {"box-memory-mib", &Configuration::boxMemoryMib, 0, 16 * 1024 * 1024},
    {"box-tasks", &Configuration::boxTasks, 16, 1024 * 1024},
    {"user-tasks-at-once", &Configuration::userTasksAtOnce, 0, 1000},
    {"user-slice-memory-mib", &Configuration::userSliceMemoryMib, 0, 16 * 1024 * 1024},
    {"user-slice-tasks", &Configuration::userSliceTasks, 0, 4 * 1024 * 1024},
    {"user-disk-mib", &Configuration::userDiskMib, 0, 1024 * 1024 * 1024},
    {"free-space-mib", &Configuration::freeSpaceMib, 0, 1024 * 1024 * 1024},
});

}  // namespace

std::expected<Configuration, std::string> Configuration::read(std::string_view text, std::string_view file) {
  const auto document = parseToml(text, file);
  if (!document) return std::unexpected(document.error());
  TomlReader::Fault fault{std::string(file), {}};
  TomlReader reader(*document, "", fault);

  Configuration result;
  result.acceptMissing = reader.texts("accept-missing");
  for (const auto& controller : result.acceptMissing)
    if (controller != "memory" && controller != "pids" && controller != "cpu" && controller != "io")
      reader.fail(reader.line("accept-missing"), "accept-missing knows memory, pids, cpu and io, not " + controller);

  const auto base = reader.integer("uid-base", result.uidBase, model::kUidBaseLeast, model::kUidBaseMost);
  if (!fault && base % model::kUidStep != 0)
    reader.fail(reader.line("uid-base"), "uid-base has to be a multiple of " + std::to_string(model::kUidStep));
  result.uidBase = static_cast<std::uint32_t>(base);

  auto numbers = reader.table("limits");
  for (const auto& number : kNumbers)
    result.*number.member = static_cast<std::uint64_t>(
        numbers.integer(number.key, static_cast<std::int64_t>(result.*number.member), number.least, number.most));
  numbers.finish();

  auto roles = reader.table("roles");
  for (const auto& [role, word] : model::Spelling<model::Role>::words) {
    if (!roles.has(word)) continue;
    auto table = roles.table(word);
    const auto agent = table.text("agent");
    const auto model = table.text("model", "");
    const auto provider = table.text("provider", "");
    const auto binding =
        Binding::parse(agent + (model.empty() ? "" : "/" + model) + (provider.empty() ? "" : "@" + provider));
    if (binding)
      result.roles[role] = *binding;
    else
      table.fail(table.line("agent"), binding.error());
    table.finish();
  }
  roles.finish();
  reader.finish();
  if (fault) return std::unexpected(fault.text);
  return result;
}

void ConfigurationFile::reload() {
  problem_.clear();
  for (const auto& path : paths_) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) continue;
    const auto text = readDataFile(path);
    auto next = text ? Configuration::read(*text, path.string()) : std::unexpected(text.error());
    if (next)
      current_ = std::move(*next);
    else
      problem_ = next.error();
    return;
  }
  current_ = Configuration();
}

}  // namespace coffer::agents
