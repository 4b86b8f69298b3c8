#include "engine/unit_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

std::expected<Fd, Error> descend(Fd directory, std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string name(path.substr(0, slash));
    auto next = os::makeDirectory(directory.get(), name, 0755);
    if (!next) return next;
    directory = std::move(*next);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return directory;
}

}  // namespace

std::expected<std::string, Error> writeInput(const Places& places, const std::string& unit,
                                             const sandbox::Identity& identity, const std::vector<InputFile>& files,
                                             const std::vector<std::string>& mountPoints) {
  auto inputs = os::openDirectory(places.inputs());
  if (!inputs) return std::unexpected(inputs.error());
  if (auto removed = os::removeTree(inputs->get(), unit); !removed) return std::unexpected(removed.error());
  auto directory = os::makeDirectory(inputs->get(), unit, 0755);
  if (!directory) return std::unexpected(directory.error());

  auto etc = os::makeDirectory(directory->get(), ".etc", 0755);
  if (!etc) return std::unexpected(etc.error());
  const auto number = std::to_string(identity.uid);
  const std::string passwd = "root:x:0:0:root:/root:/usr/sbin/nologin\n" + identity.user + ":x:" + number + ":" +
                             number +
                             "::/home/agent:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  const std::string group = "root:x:0:\n" + identity.user + ":x:" + number + ":\nnogroup:x:65534:\n";
  if (auto written = os::writeFile(etc->get(), "passwd", passwd, 0644); !written)
    return std::unexpected(written.error());
  if (auto written = os::writeFile(etc->get(), "group", group, 0644); !written) return std::unexpected(written.error());

  for (const auto& file : files) {
    const auto slash = file.name.rfind('/');
    Fd copy(::fcntl(directory->get(), F_DUPFD_CLOEXEC, 0));
    auto parent = descend(std::move(copy), slash == std::string::npos ? std::string_view{}
                                                                      : std::string_view(file.name).substr(0, slash));
    if (!parent) return std::unexpected(parent.error());
    const auto name = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
    if (name.empty()) continue;
    if (auto written = os::writeFile(parent->get(), name, file.bytes, 0644); !written)
      return std::unexpected(written.error());
  }
  for (const auto& point : mountPoints) {
    const auto slash = point.rfind('/');
    Fd copy(::fcntl(directory->get(), F_DUPFD_CLOEXEC, 0));
    auto parent = descend(std::move(copy),
                          slash == std::string::npos ? std::string_view{} : std::string_view(point).substr(0, slash));
    if (!parent) return std::unexpected(parent.error());
    const auto name = slash == std::string::npos ? point : point.substr(slash + 1);
    if (name.empty()) continue;
    if (auto written = os::writeFile(parent->get(), name, {}, 0644); !written) return std::unexpected(written.error());
  }
  return places.input(unit);
}

std::expected<std::string, Error> makeOutput(const Places& places, const std::string& unit, std::uint32_t uid,
                                             const std::vector<std::string>& mountPoints) {
  auto work = os::openDirectory(places.work());
  if (!work) return std::unexpected(work.error());
  if (auto removed = os::removeTree(work->get(), unit); !removed) return std::unexpected(removed.error());
  auto directory = os::makeDirectory(work->get(), unit, 0700);
  if (!directory) return std::unexpected(directory.error());
  for (const auto& point : mountPoints)
    if (auto made = os::makeDirectory(directory->get(), point, 0700, uid, uid); !made)
      return std::unexpected(made.error());
  // Given away last: from then on it is not ours to write in.
  if (::fchown(directory->get(), uid, uid) < 0)
    return std::unexpected(Error{ErrorCode::Internal, "cannot give " + unit + " its output directory"});
  return places.work() + "/" + unit;
}

std::expected<void, Error> removeInput(const Places& places, const std::string& unit) {
  auto inputs = os::openDirectory(places.inputs());
  if (!inputs) return std::unexpected(inputs.error());
  return os::removeTree(inputs->get(), unit);
}

std::expected<void, Error> removeOutput(const Places& places, const std::string& unit) {
  auto work = os::openDirectory(places.work());
  if (!work) return std::unexpected(work.error());
  return os::removeTree(work->get(), unit);
}

}  // namespace coffer::engine
