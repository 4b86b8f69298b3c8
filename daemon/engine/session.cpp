#include "engine/session.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "engine/image_mounts.hpp"
#include "engine/unit_input.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"
#include "os/event.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

std::unexpected<Error> failed(const std::string& what) {
  const int number = errno;
  return std::unexpected(Error{number == ENOSPC ? ErrorCode::NoSpace : ErrorCode::Internal,
                               "cannot " + what + ": " + std::strerror(number)});
}

// What earlier steps printed was read and kept before this one was opened; with it there, one that filled the image
// would leave no room for any other.
std::expected<void, Error> makeRoom(const std::string& path, int directory, const std::string& step) {
  std::error_code error;
  const std::filesystem::directory_iterator files(path, error);
  if (error) return failed("list the output of earlier runs");
  for (const auto& entry : files) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(step) || !(name.ends_with(".out") || name.ends_with(".err"))) continue;
    const Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    unsigned flags = 0;
    if (!file || ::ioctl(file.get(), FS_IOC_GETFLAGS, &flags) < 0) return failed("look at the output file " + name);
    flags &= ~static_cast<unsigned>(FS_APPEND_FL);
    if (::ioctl(file.get(), FS_IOC_SETFLAGS, &flags) < 0 || ::unlinkat(directory, name.c_str(), 0) < 0)
      return failed("remove the output file " + name);
  }
  return {};
}

std::string addressText(const walls::RefusalEntry& entry) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = entry.family == 6 ? AF_INET6 : AF_INET;
  return ::inet_ntop(family, entry.address.data(), text, sizeof text) ? text : "";
}

}  // namespace

Async<std::expected<void, Error>> makeSlices(Context& context, std::uint64_t task, std::uint32_t owner,
                                             sandbox::SliceLimits box, sandbox::SliceLimits user) {
  // PID 1 may have made the owner's slice by itself, for a unit in it, so its limits are set and not only asked for at
  // the start. They hold in it whoever makes it again, until the next boot.
  auto totals = sandbox::sliceProperties(user);
  for (const char* weight : {"CPUWeight", "IOWeight"})
    totals.push_back({weight, std::uint64_t{100}});
  auto set = co_await context.systemd->setProperties(ownerSlice(owner), std::move(totals));
  if (!set) co_return set;
  for (const auto& [name, limits] :
       {std::pair{taskSlice(owner, task), sandbox::SliceLimits{}}, std::pair{boxSlice(owner, task), box}}) {
    auto slice = std::make_shared<sandbox::Unit>();
    slice->name = name;
    slice->set("Description", "Cofferdam task " + std::to_string(task));
    for (auto& property : sandbox::sliceProperties(limits))
      slice->properties.push_back(property);
    auto started = co_await context.systemd->startUnit(slice);
    if (!started && started.error().code != ErrorCode::Busy) co_return started;
  }
  co_return {};
}

std::string Session::workspace() const { return context_.places.workspace(spec_.run); }
std::string Session::namespacePath() const { return context_.places.netns(spec_.run); }
std::string Session::directory(const std::string& name) const {
  return context_.places.image(taskImage(spec_.task)) + "/" + name;
}
bool Session::holds(const std::string& name) const {
  std::error_code error;
  const std::filesystem::directory_iterator entries(directory(name), error);
  return !error && entries != std::filesystem::directory_iterator();
}

std::string Session::outputFile(const std::string& unit, const char* which) const {
  return context_.places.image(outputImage(spec_.task)) + "/" + unit + "." + which;
}

std::expected<void, Error> Session::remount(bool readOnly) {
  if (auto gone = context_.walls->unmountWorkspace(spec_.run); !gone) return gone;
  spec_.readOnly = readOnly;
  return mounts();
}

std::expected<void, Error> Session::mounts() {
  for (const auto& name : spec_.directories)
    if (auto made = context_.walls->makeDirectory(taskImage(spec_.task), name, spec_.uid); !made) return made;
  if (spec_.checkout.empty()) return {};
  auto state = context_.walls->openState();
  if (!state) return std::unexpected(state.error());
  auto lower = os::openBeneath(state->get(), std::string_view(spec_.checkout).substr(context_.places.state.size() + 1),
                               O_PATH | O_DIRECTORY);
  if (!lower) return std::unexpected(lower.error());
  struct stat status{};
  if (::fstat(lower->get(), &status) < 0) return failed("look at the checkout " + spec_.checkout);
  std::optional<walls::Layer> layer;
  if (!spec_.layer.empty()) layer = walls::Layer{taskImage(spec_.task), spec_.layer};
  return context_.walls->mountWorkspace(spec_.run, lower->get(), {status.st_uid, status.st_gid, spec_.uid}, layer,
                                        spec_.readOnly);
}

Async<std::expected<void, Error>> Session::serveOn(std::string suffix, model::UidPart part, Records request,
                                                   PassedFds fds, std::string credential) {
  const auto name = spec_.run + suffix;
  auto state = co_await context_.systemd->state(name + ".service");
  if (!state) co_return std::unexpected(state.error());
  if (state->running()) co_return {};  // it serves already; its listeners are the ones there are
  co_await context_.systemd->remove(name + ".service");

  auto uid = context_.uid(part, spec_.task, name);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = context_.identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());
  auto in = writeInput(context_.places, name, *identity, {{"request", request.serialize()}});
  if (!in) co_return std::unexpected(in.error());
  // What it metered before it was cut off counts, so its output is not made new.
  const auto out = context_.places.work() + "/" + name;
  struct stat status{};
  if (::lstat(out.c_str(), &status) < 0)
    if (auto made = makeOutput(context_.places, name, *uid); !made) co_return std::unexpected(made.error());

  sandbox::SealedSpec spec;
  spec.name = name;
  spec.slice = taskSlice(spec_.owner, spec_.task);
  spec.identity = *identity;
  spec.in = *in;
  spec.out = out;
  spec.fds = std::move(fds);
  std::shared_ptr<sandbox::Unit> unit;
  if (part == model::UidPart::Gateway) {
    spec.command = {{"/usr/libexec/cofferdam/coffer-gateway"}};
    unit = std::make_shared<sandbox::Unit>(sandbox::gatewayUnit({spec, credential}));
  } else {
    spec.command = {{"/usr/libexec/cofferdam/coffer-resolver"}};
    unit = std::make_shared<sandbox::Unit>(sandbox::resolverUnit(spec));
  }
  co_return co_await context_.systemd->startUnit(unit);
}

std::expected<void, Error> Session::listeners() {
  if (!spec_.network) return {};
  auto made = context_.walls->createNetns(spec_.run);
  if (!made) return std::unexpected(made.error());
  const auto shared = [](Fd& fd) { return std::make_shared<Fd>(std::move(fd)); };
  names_.push_back({"dns-udp", shared(made->dnsUdp)});
  names_.push_back({"dns-tcp", shared(made->dnsTcp)});
  if (spec_.gateway) endpoint_.push_back({"model", shared(made->model)});
  return {};
}

Async<std::expected<void, Error>> Session::open() {
  auto images = co_await mountImages(context_, spec_.task, spec_.owner);
  if (!images) co_return images;
  if (auto mounted = mounts(); !mounted) co_return mounted;
  co_return listeners();
}

Async<std::expected<void, Error>> Session::serve() {
  if (names_.empty()) co_return {};
  auto resolver =
      begin(serveOn("-resolver", model::UidPart::Resolver, Records{}, std::exchange(names_, {}), std::string{}));
  std::expected<void, Error> gateway;
  if (!endpoint_.empty())
    gateway = co_await serveOn("-gateway", model::UidPart::Gateway, spec_.gateway->request,
                               std::exchange(endpoint_, {}), spec_.gateway->credential);
  auto served = co_await resolver;
  co_return served ? gateway : served;
}

Async<std::expected<void, Error>> Session::removeServer(std::string suffix) {
  const auto name = spec_.run + suffix;
  auto result = co_await context_.systemd->remove(name + ".service");
  for (const auto& removed : {removeInput(context_.places, name), removeOutput(context_.places, name)})
    if (!removed && result) result = removed;
  context_.releaseUid(spec_.task, name);
  co_return result;
}

Async<std::expected<void, Error>> Session::close(bool keepImages) {
  std::expected<void, Error> result;
  const auto note = [&result](const std::expected<void, Error>& outcome) {
    if (!outcome && result) result = outcome;
  };
  if (spec_.network) {
    names_.clear();
    endpoint_.clear();
    auto gateway = begin(removeServer("-gateway"));
    note(co_await removeServer("-resolver"));
    note(co_await gateway);
    note(context_.walls->removeNetns(spec_.run));
  }
  note(context_.walls->unmountWorkspace(spec_.run));
  for (const auto& name : spec_.temporary) {
    // In bounded parts, and everybody else has a turn between two of them: it is a tree of an agent's making.
    auto gone = context_.walls->removeDirectory(taskImage(spec_.task), name);
    while (gone && !*gone) {
      co_await os::pause(context_.event, 0);
      gone = context_.walls->removeDirectory(taskImage(spec_.task), name);
    }
    if (!gone && gone.error().code != ErrorCode::NotFound) note(std::unexpected(gone.error()));
  }
  if (keepImages) co_return result;
  note(unmountImages(context_, spec_.task));
  co_return result;
}

std::expected<std::pair<std::string, std::string>, Error> Session::outputs(const std::string& unit) const {
  const auto image = context_.places.image(outputImage(spec_.task));
  auto directory = os::openDirectory(image);
  if (!directory) return std::unexpected(directory.error());
  if (auto made = makeRoom(image, directory->get(), spec_.run); !made) return std::unexpected(made.error());
  for (const char* which : {"out", "err"}) {
    const auto name = unit + "." + which;
    Fd file(::openat(directory->get(), name.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file) return failed("make the output file of " + unit);
    if (::fchmod(file.get(), 0644) < 0) return failed("make the output file of " + unit);
    // The unit holds a descriptor of it and could shorten it; append-only, it can only add.
    unsigned flags = 0;
    if (::ioctl(file.get(), FS_IOC_GETFLAGS, &flags) < 0) return failed("look at the output file of " + unit);
    flags |= FS_APPEND_FL;
    if (::ioctl(file.get(), FS_IOC_SETFLAGS, &flags) < 0)
      return failed("make the output file of " + unit + " append-only");
  }
  return std::pair{outputFile(unit, "out"), outputFile(unit, "err")};
}

Async<std::vector<store::Refusal>> Session::refusals(std::string role) {
  std::vector<store::Refusal> list;
  if (!spec_.network) co_return list;
  // Names are written down before they are answered; what is still asked must not be counted later.
  const auto resolver = spec_.run + "-resolver.service";
  if (auto stopped = co_await context_.systemd->remove(resolver); !stopped)
    log::warning(resolver +
                 " cannot be stopped, so names that were asked last may be missing: " + stopped.error().message);
  if (auto told = context_.walls->refusals(spec_.run)) {
    for (const auto& entry : told->entries) {
      const char* protocol = entry.protocol == IPPROTO_TCP ? "tcp" : entry.protocol == IPPROTO_UDP ? "udp" : "other";
      list.push_back({role, protocol, addressText(entry), "", entry.port, "no network", entry.packets});
    }
  }
  auto output = os::openDirectory(context_.places.work() + "/" + spec_.run + "-resolver");
  if (!output) co_return list;
  const auto bytes = os::readBeneath(output->get(), "names", limits::kReportBytes);
  if (!bytes) co_return list;
  const auto records = Records::parse(*bytes);
  if (!records) co_return list;
  for (const auto& record : records->list()) {
    if (record.key == "name") list.push_back({role, "dns", "", record.value, 53, "no network", 1});
    if (record.key == "count" && !list.empty()) list.back().count = Records::decimal(record.value);
  }
  co_return list;
}

Records Session::metered() const {
  auto output = os::openDirectory(context_.places.work() + "/" + spec_.run + "-gateway");
  if (!output) return {};
  const auto bytes = os::readBeneath(output->get(), "usage", limits::kReportBytes);
  if (!bytes) return {};
  auto records = Records::parse(*bytes);
  return records ? std::move(*records) : Records{};
}

}  // namespace coffer::engine
