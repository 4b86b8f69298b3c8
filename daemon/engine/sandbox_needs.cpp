#include "engine/sandbox_needs.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/check_limits.hpp"
#include "engine/machine_checks.hpp"
#include "model/limits.hpp"
#include "os/event.hpp"
#include "walls/client.hpp"

namespace coffer::engine {
namespace {

std::string readSmall(const char* path, std::size_t most) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  const auto got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Where Debian and others put what glibc loads: /usr/lib, a folder of the architecture below it, /usr/lib64.
bool moduleThere() {
  constexpr auto kModule = "libnss_systemd.so.2";
  std::error_code error;
  if (std::filesystem::exists(std::string("/usr/lib64/") + kModule, error) ||
      std::filesystem::exists(std::string("/usr/lib/") + kModule, error))
    return true;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib", error))
    if (entry.path().filename().string().contains("-linux-gnu") &&
        std::filesystem::exists(entry.path() / kModule, error))
      return true;
  return false;
}

}  // namespace

std::vector<std::string> missingControllers() {
  const auto text = " " + readSmall("/sys/fs/cgroup/cgroup.controllers", 4096);
  std::vector<std::string> missing;
  for (const char* controller : {"memory", "pids"}) {
    const auto at = text.find(std::string(" ") + controller);
    const auto end = at == std::string::npos ? at : at + 1 + std::strlen(controller);
    if (at == std::string::npos || (end < text.size() && text[end] != ' ' && text[end] != '\n'))
      missing.emplace_back(controller);
  }
  return missing;
}

std::vector<Check> kernelChecks(const std::vector<std::string>& accepted) {
  utsname name{};
  ::uname(&name);
  std::vector<Check> checks = {kernelCheck(name.release)};
  const auto missing = missingControllers();
  for (const std::string controller : {"memory", "pids"})
    checks.push_back(controllerCheck(controller, std::ranges::contains(missing, controller),
                                     std::ranges::contains(accepted, controller)));
  return checks;
}

Async<std::expected<std::optional<Error>, Error>> tryWalls(Context& context, walls::Flag what) {
  const auto patience = limits::kSystemCheckTime;
  walls::WallsClient client(context.walls->socketPath(), limits::kSystemCheckConnectTime);
  const auto descriptor = client.askProbe(what);
  if (!descriptor) co_return std::unexpected(descriptor.error());
  if (!co_await os::readable(context.event, *descriptor, static_cast<std::uint64_t>(patience.count())))
    co_return std::unexpected(Error{
        ErrorCode::Busy, "coffer-walls did not answer in " + std::to_string(patience.count() / 1'000'000) + " s"});
  co_return client.takeProbe();
}

namespace {

// One try for all who ask while it is under way: coffer-walls takes few connections, and any number of steps may begin
// at once.
Async<WallsAnswers> askWalls(Context& context) {
  if (context.asking) {
    Completion<WallsAnswers> answers;
    context.asking->push_back(answers);
    co_return co_await answers;
  }
  context.asking.emplace();
  // All at once: with coffer-walls hanging they wait beside each other.
  auto loop = begin(tryWalls(context, walls::Flag::TryLoop));
  auto table = begin(tryWalls(context, walls::Flag::TryTable));
  auto user = begin(tryWalls(context, walls::Flag::TryUserNamespace));
  WallsAnswers answers;
  answers.loop = co_await loop;
  answers.table = co_await table;
  answers.userNamespace = co_await user;
  const auto others = std::exchange(context.asking, std::nullopt);
  for (const auto& other : *others)
    other.set(answers);
  co_return answers;
}

}  // namespace

Async<std::vector<Check>> sandboxNeeds(Context& context, std::vector<std::string> accepted) {
  auto checks = kernelChecks(accepted);
  checks.push_back(nameServiceCheck(readSmall("/etc/nsswitch.conf", limits::kDataFileBytes), moduleThere()));

  const auto answers = co_await askWalls(context);
  for (const auto* answer : {&answers.loop, &answers.table, &answers.userNamespace}) {
    if (*answer) continue;
    checks.push_back(wallsCheck(std::unexpected(answer->error())));
    co_return checks;
  }
  checks.push_back(wallsCheck({}));
  checks.push_back(loopCheck(*answers.loop));
  checks.push_back(tableCheck(*answers.table));
  checks.push_back(userNamespaceCheck(*answers.userNamespace));
  co_return checks;
}

std::optional<Check> firstFailed(const std::vector<Check>& checks) {
  const auto found = std::ranges::find(checks, CheckState::Failed, &Check::state);
  return found == checks.end() ? std::nullopt : std::optional(*found);
}

Async<std::expected<void, Error>> needsMet(Context& context, std::vector<std::string> accepted) {
  if (context.obstacle) co_return std::unexpected(refusalOf(*context.obstacle));
  const auto checks = co_await sandboxNeeds(context, std::move(accepted));
  if (const auto failed = firstFailed(checks)) co_return std::unexpected(refusalOf(*failed));
  co_return {};
}

}  // namespace coffer::engine
