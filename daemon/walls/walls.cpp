#include "walls/walls.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <ranges>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "model/uid_range.hpp"
#include "walls/loop_device.hpp"
#include "walls/user_namespace.hpp"

namespace coffer::walls {

namespace {

/// What a verb may carry; anything else in a request is refused.
struct Shape {
  Verb verb;
  bool name = false;
  bool fd = false;
  std::uint32_t flags = 0;
};
constexpr std::uint32_t bit(Flag flag) { return static_cast<std::uint32_t>(flag); }
constexpr std::array kShapes = std::to_array<Shape>({
    {.verb = Verb::Hello},
    {.verb = Verb::List},
    {.verb = Verb::NetnsCreate, .name = true},
    {.verb = Verb::NetnsRemove, .name = true},
    {.verb = Verb::Refusals, .name = true},
    {.verb = Verb::ImageMount, .name = true, .fd = true, .flags = bit(Flag::NoExec)},
    {.verb = Verb::ImageUnmount, .name = true},
    {.verb = Verb::WorkspaceMount, .name = true, .fd = true, .flags = bit(Flag::ReadOnly)},
    {.verb = Verb::WorkspaceUnmount, .name = true},
    {.verb = Verb::DirectoryMake},
    {.verb = Verb::DirectoryRemove},
    {.verb = Verb::SourceAttach, .name = true, .fd = true, .flags = bit(Flag::Writable) | bit(Flag::Mapped)},
    {.verb = Verb::SourceDetach, .name = true},
    {.verb = Verb::HostSet, .flags = bit(Flag::Remove)},
    {.verb = Verb::HostReplace, .fd = true},
    {.verb = Verb::StateOpen},
    {.verb = Verb::UidsUse},
    {.verb = Verb::Probe,
     .flags = bit(Flag::TryLoop) | bit(Flag::TryTable) | bit(Flag::TryUserNamespace) | bit(Flag::TryTproxy)},
});

Result<void> check(const Request& request, const Fd& fd) {
  if (request.magic != kMagic || request.version != kVersion)
    return refuse(ErrorCode::Unsupported, "cofferd and coffer-walls are of different versions: restart both");
  const auto shape = std::ranges::find(kShapes, request.verb, &Shape::verb);
  if (shape == kShapes.end()) return refuse(ErrorCode::InvalidArgument, "no such verb");
  if ((request.flags & ~shape->flags) != 0) return refuse(ErrorCode::InvalidArgument, "the verb has no such flag");
  if (shape->fd != static_cast<bool>(fd))
    return refuse(ErrorCode::InvalidArgument, "the verb needs one descriptor, or none");
  if (shape->name && !unpackName(request.name))
    return refuse(ErrorCode::InvalidArgument, "not a name: [a-z0-9-]{1,48}");
  return {};
}

Result<std::string> nameIn(const Name& field, const char* what) {
  const auto name = unpackName(field);
  if (!name) return refuse(ErrorCode::InvalidArgument, std::string("not a name of ") + what + ": [a-z0-9-]{1,48}");
  return std::string(*name);
}

std::string nameOf(const Request& request) { return std::string(unpackName(request.name).value_or("")); }

Result<OwnerMap> ownersIn(const Request& request, const model::UidRanges& ours) {
  if (!ours.holds(request.lowerUid) || !ours.holds(request.lowerGid) || !ours.holds(request.uid))
    return refuse(ErrorCode::InvalidArgument, "owners are mapped between uids of cofferdam's own range only");
  return OwnerMap{.fromUid = request.lowerUid, .fromGid = request.lowerGid, .to = request.uid};
}

/// A sealed memfd of `entries`, for the reader to map or read.
template <class Entry>
Result<Fd> memfdOf(const char* name, std::span<const Entry> entries) {
  Fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return failed("making a memfd");
  const auto bytes = std::as_bytes(entries);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(memory.get(), bytes.data() + at, bytes.size() - at);
    if (written < 0) return failed("writing a memfd");
    at += static_cast<std::size_t>(written);
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return failed("sealing a memfd");
  return memory;
}

Result<Fd> copyOf(const Fd& fd) {
  Fd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return failed("copying a descriptor");
  return copy;
}

}  // namespace

Result<Walls> Walls::open(const std::string& base, FdStore& store) {
  auto tree = RuntimeTree::open(base);
  if (!tree) return std::unexpected(tree.error());
  Fd socket = store.take("host-table");
  const bool stored = static_cast<bool>(socket);
  auto table = HostTable::open(std::move(socket));
  if (!table) return std::unexpected(table.error());
  if (!stored) FdStore::put("host-table", table->socket());
  return Walls(TaskMounts(std::move(*tree)), NamespaceKeeper(store), std::move(*table));
}

Result<void> Walls::takeDown(const std::string& base) {
  Result<void> outcome;
  const auto note = [&](Result<void> part) {
    if (!part && outcome) outcome = std::move(part);
  };
  if (::access(base.c_str(), F_OK) == 0) {
    auto tree = RuntimeTree::open(base);
    if (!tree) return std::unexpected(tree.error());
    // What is mounted upon images goes before them.
    for (const Kind kind : {Kind::Workspace, Kind::Source, Kind::Netns, Kind::Image}) {
      auto names = tree->list(kind);
      if (!names) {
        note(std::unexpected(names.error()));
        continue;
      }
      for (const std::string& name : *names)
        note(tree->detach(kind, name, kind != Kind::Image));
    }
  }
  note(HostTable::takeDown());
  return outcome;
}

Answer Walls::perform(const Request& request, const Fd& fd) {
  Result<Done> done;
  try {
    auto good = check(request, fd);
    done = good ? dispatch(request, fd) : Result<Done>(std::unexpected(good.error()));
  } catch (const std::exception& e) {
    done = refuse(ErrorCode::Internal, e.what());
  }
  Answer answer;
  if (done) {
    answer.reply.value = done->value;
    answer.fds = std::move(done->fds);
    return answer;
  }
  const Fault& fault = done.error();
  answer.reply.status = static_cast<std::int32_t>(fault.code);
  answer.reply.errnum = fault.errnum;
  std::ranges::copy(fault.message | std::views::take(answer.reply.message.size() - 1), answer.reply.message.begin());
  return answer;
}

Result<Walls::Done> Walls::dispatch(const Request& request, const Fd& fd) {
  const auto plain = [](Result<void> result) -> Result<Done> {
    if (!result) return std::unexpected(result.error());
    return Done{};
  };
  const RuntimeTree& tree = mounts_.tree();
  const std::string name = nameOf(request);
  switch (request.verb) {
    case Verb::Hello:
      return Done{.value = kVersion, .fds = {}};
    case Verb::List:
      return list();
    case Verb::NetnsCreate:
      return createNetns(request);
    case Verb::NetnsRemove:
      return plain(namespaces_.remove(tree, name));
    case Verb::Refusals:
      return refusals(request);
    case Verb::ImageMount:
      return plain(mounts_.mountImage(name, fd.get(), has(request.flags, Flag::NoExec)));
    case Verb::ImageUnmount:
      return plain(tree.detach(Kind::Image, name, false));
    case Verb::WorkspaceMount:
      return plain(mountWorkspace(request, fd.get()));
    case Verb::WorkspaceUnmount:
      return plain(tree.detach(Kind::Workspace, name, false));
    case Verb::SourceAttach:
      return plain(attachSource(request, fd.get()));
    case Verb::SourceDetach:
      return plain(tree.detach(Kind::Source, name, true));
    case Verb::HostSet:
      return plain(hostTable_.set(request.set, request.entry, has(request.flags, Flag::Remove)));
    case Verb::HostReplace:
      return plain(replaceHostSet(request, fd.get()));
    case Verb::StateOpen:
      return openState();
    case Verb::UidsUse:
      if (!model::UidRanges::mayBegin(request.uid))
        return refuse(ErrorCode::InvalidArgument, "the range of our own uids cannot begin there");
      return plain(hostTable_.useUids(model::UidRanges(request.uid)));
    case Verb::Probe:
      return plain(probe(request.flags));
    case Verb::DirectoryMake:
    case Verb::DirectoryRemove:
      break;
  }
  const auto image = nameIn(request.image, "an image");
  if (!image) return std::unexpected(image.error());
  const auto directory = nameIn(request.directory, "a directory");
  if (!directory) return std::unexpected(directory.error());
  if (request.verb == Verb::DirectoryMake) {
    if (!hostTable_.uids().holds(request.uid))
      return refuse(ErrorCode::InvalidArgument, "a directory is made for uids of cofferdam's own range only");
    return plain(mounts_.makeDirectory(*image, *directory, request.uid));
  }
  auto gone = mounts_.removeDirectory(*image, *directory);
  if (!gone) return std::unexpected(gone.error());
  return Done{.value = *gone ? 0U : 1U, .fds = {}};
}

Result<void> Walls::probe(std::uint32_t what) {
  const auto uid = hostTable_.uids().first();
  switch (static_cast<Flag>(what)) {
    case Flag::TryLoop:
      return freeLoop().transform([](const LoopDevice&) {});
    case Flag::TryTable:
      return hostTable_.prove();
    case Flag::TryUserNamespace:
      return makeUserNamespace({.fromUid = uid, .fromGid = uid, .to = uid}).transform([](const Fd&) {});
    case Flag::TryTproxy:
      return HostTable::tryTproxy();
    default:
      return refuse(ErrorCode::InvalidArgument, "one thing is tried at a time");
  }
}

Result<Walls::Done> Walls::list() const {
  std::vector<ListEntry> entries;
  for (const Kind kind : {Kind::Netns, Kind::Image, Kind::Workspace, Kind::Source}) {
    auto names = mounts_.tree().list(kind);
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names)
      if (const auto field = packName(name)) entries.push_back({.kind = kind, .name = *field});
  }
  auto memory = memfdOf<ListEntry>("list", entries);
  if (!memory) return std::unexpected(memory.error());
  Done done;
  done.fds.push_back(std::move(*memory));
  return done;
}

Result<Walls::Done> Walls::createNetns(const Request& request) {
  auto made = namespaces_.create(mounts_.tree(), nameOf(request));
  if (!made) return std::unexpected(made.error());
  Done done;
  for (const Fd* listener : {&(*made)->model, &(*made)->dnsUdp, &(*made)->dnsTcp}) {
    auto copy = copyOf(*listener);
    if (!copy) return std::unexpected(copy.error());
    done.fds.push_back(std::move(*copy));
  }
  return done;
}

Result<Walls::Done> Walls::refusals(const Request& request) const {
  auto found = namespaces_.find(nameOf(request));
  if (!found) return std::unexpected(found.error());
  auto seen = refusalsIn((*found)->ns.get());
  if (!seen) return std::unexpected(seen.error());
  auto memory = memfdOf<RefusalEntry>("refusals", seen->entries);
  if (!memory) return std::unexpected(memory.error());
  Done done;
  done.value = seen->full ? 1 : 0;
  done.fds.push_back(std::move(*memory));
  return done;
}

Result<void> Walls::mountWorkspace(const Request& request, int lower) const {
  auto owners = ownersIn(request, hostTable_.uids());
  if (!owners) return std::unexpected(owners.error());
  std::optional<LayerPlace> layer;
  if (request.image != Name{} || request.directory != Name{}) {
    auto image = nameIn(request.image, "an image");
    if (!image) return std::unexpected(image.error());
    auto directory = nameIn(request.directory, "a directory");
    if (!directory) return std::unexpected(directory.error());
    layer = LayerPlace{.image = *image, .directory = *directory};
  }
  return mounts_.mountWorkspace(nameOf(request), lower, *owners, layer, has(request.flags, Flag::ReadOnly));
}

Result<void> Walls::attachSource(const Request& request, int directory) const {
  std::optional<OwnerMap> owners;
  if (has(request.flags, Flag::Mapped)) {
    auto checked = ownersIn(request, hostTable_.uids());
    if (!checked) return std::unexpected(checked.error());
    owners = *checked;
  }
  return mounts_.attachSource(nameOf(request), directory, has(request.flags, Flag::Writable), owners);
}

Result<Walls::Done> Walls::openState() {
  Fd state(::open(std::string(kStateDirectory).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!state) return failed("opening the state directory");
  Done done;
  done.fds.push_back(std::move(state));
  return done;
}

Result<void> Walls::replaceHostSet(const Request& request, int memory) {
  struct stat status{};
  if (::fstat(memory, &status) != 0) return failed("looking at the entries");
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (!S_ISREG(status.st_mode) || size % sizeof(HostEntry) != 0)
    return refuse(ErrorCode::InvalidArgument, "not a list of entries");
  if (size / sizeof(HostEntry) > limits::kHostEntries)
    return refuse(ErrorCode::Limit,
                  "at most " + std::to_string(limits::kHostEntries) + " entries in a set of the host table");
  std::vector<HostEntry> entries(size / sizeof(HostEntry));
  if (::pread(memory, entries.data(), size, 0) != static_cast<ssize_t>(size)) return failed(EIO, "reading the entries");
  return hostTable_.replace(request.set, entries);
}

}  // namespace coffer::walls
