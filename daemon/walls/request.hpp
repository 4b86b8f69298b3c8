#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "dbus/error.hpp"

/// What cofferd and coffer-walls say to each other, and all they share: one fixed-size request with at most one
/// descriptor, one fixed-size reply with at most three, over SOCK_SEQPACKET between two programs of one package on one
/// machine (so host byte order). Numbers of verbs and fields never change their meaning; a change of layout is a new
/// kVersion.
namespace coffer::walls {

inline constexpr std::uint32_t kMagic = 0x434f4657;  // "WFOC"
inline constexpr std::uint32_t kVersion = 1;

/// Where what lasts is; lower directories are opened beneath it.
inline constexpr std::string_view kStateDirectory = "/var/lib/cofferdam";
/// Where coffer-walls listens, and the folders of its mounts beside it.
inline constexpr std::string_view kRuntimeDirectory = "/run/cofferdam";
inline constexpr std::string_view kSocketPath = "/run/cofferdam/walls.sock";

/// Every verb may be repeated: asking for what exists gives it, removing what is gone succeeds.
enum class Verb : std::uint32_t {
  Hello = 1,  ///< reply.value = kVersion of the server
  List = 2,   ///< reply fd: memfd of ListEntry, everything that exists, for the sweep
  NetnsCreate =
      3,  ///< name; reply fds: model (tcp 127.0.0.1:4180), dns-udp, dns-tcp (127.0.0.1:53); pinned at netns/NAME
  NetnsRemove = 4,   ///< name
  Refusals = 5,      ///< name of a namespace; reply fd: memfd of RefusalEntry; reply.value = 1 when the set was full
  ImageMount = 6,    ///< name, fd = image (regular, root's, read-write), flags NoExec; mounted at img/NAME
  ImageUnmount = 7,  ///< name
  WorkspaceMount =
      8,  ///< name, fd = lower directory, lowerUid/lowerGid, uid; image + directory or none, flags ReadOnly; at ws/NAME
  WorkspaceUnmount = 9,  ///< name
  DirectoryMake = 10,    ///< image, directory, uid: img/IMAGE/DIRECTORY, 0700, owned by uid:uid
  DirectoryRemove = 11,  ///< image, directory; reply.value = 1: not finished, ask again
  SourceAttach = 12,     ///< name, fd = directory, flags Writable, Mapped (lowerUid/lowerGid seen as uid); at src/NAME
  SourceDetach = 13,     ///< name
  HostSet = 14,          ///< set, entry, flags Remove
  StateOpen =
      16,  ///< reply fd: the state directory in the host's mount namespace, O_PATH: only a mount of ours can be cloned
  HostReplace = 15,  ///< set, fd = memfd of HostEntry: exactly these from now on
  UidsUse = 17,      ///< uid: where the range of our own uids begins (model/uid_range.hpp)
  Probe = 18,        ///< flags: one of TryLoop, TryTable, TryUserNamespace, TryTproxy; tried, and nothing of it stays
};

enum class Flag : std::uint32_t {
  NoExec = 1,              ///< ImageMount: nothing on it may be executed (an image of logs)
  ReadOnly = 2,            ///< WorkspaceMount: the merged tree is read-only (a reviewer's)
  Writable = 4,            ///< SourceAttach: not read-only (landing)
  Remove = 8,              ///< HostSet: takes the entry out
  Mapped = 16,             ///< SourceAttach: owner lowerUid/lowerGid appears as uid
  TryLoop = 32,            ///< Probe: whether a free loop device can be had
  TryTable = 64,           ///< Probe: whether the host table stands, and is ours
  TryUserNamespace = 128,  ///< Probe: whether a user namespace with a map of ours can be made
  TryTproxy = 256,         ///< Probe: whether a rule can hand connections to a listener of ours
};

/// The host table's sets. Only the fields named are read.
enum class HostSetKind : std::uint32_t {
  GatewayPorts = 1,  ///< port: gateways may reach public IPv4 addresses on these by TCP
  GatewayExact =
      2,  ///< family, address, port: exactly this by TCP, whatever kind of address it is (an administrator named it)
  DnsServers = 3,  ///< family, address: port 53 of these, UDP and TCP, for gateways and resolvers
};

enum class Kind : std::uint32_t { Netns = 1, Image = 2, Workspace = 3, Source = 4 };

inline constexpr std::size_t kNameBytes = 48;
inline constexpr std::size_t kNameField = 64;
using Name = std::array<char, kNameField>;  ///< [a-z0-9-]{1,48}, then zeros to the end

/// family is 4 or 6 (0: no address); an IPv4 address is the first four bytes; network byte order; the rest is zero.
struct HostEntry {
  std::uint8_t family = 0;
  std::uint8_t reserved = 0;
  std::uint16_t port = 0;  ///< host byte order
  std::array<std::uint8_t, 16> address{};
  bool operator==(const HostEntry&) const = default;
};

struct ListEntry {
  Kind kind{};
  Name name{};
};

/// One destination that a sandbox was refused.
struct RefusalEntry {
  std::uint8_t family = 0;    ///< 4 or 6
  std::uint8_t protocol = 0;  ///< IPPROTO_*
  std::uint16_t port = 0;     ///< host byte order; 0 where the protocol has none
  std::array<std::uint8_t, 16> address{};
  std::uint8_t reserved[4]{};
  std::uint64_t packets = 0;
};

struct Request {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  Verb verb{};
  std::uint32_t flags = 0;
  Name name{};
  Name image{};
  Name directory{};
  std::uint32_t lowerUid = 0;
  std::uint32_t lowerGid = 0;
  std::uint32_t uid = 0;  ///< also the gid: every uid of ours has the group of its number
  HostSetKind set{};
  HostEntry entry{};
};

inline constexpr std::int32_t kDone = -1;

struct Reply {
  std::uint32_t magic = kMagic;
  std::int32_t status = kDone;  ///< kDone, or the number of an ErrorCode
  std::int32_t errnum = 0;      ///< errno of the call that failed, 0 if none
  std::uint32_t value = 0;
  std::array<char, 256> message{};  ///< for people; ends with a zero
};

static_assert(std::is_trivially_copyable_v<Request> && sizeof(Request) == 244);
static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) == 272);
static_assert(sizeof(HostEntry) == 20 && sizeof(ListEntry) == 68 && sizeof(RefusalEntry) == 32);

constexpr bool has(std::uint32_t flags, Flag flag) { return (flags & static_cast<std::uint32_t>(flag)) != 0; }

/// True for [a-z0-9-]{1,48}, the only names there are: no slash, no dot, so never a path.
constexpr bool validName(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

/// Puts a name into its field; nothing for a name that is not valid.
constexpr std::optional<Name> packName(std::string_view name) {
  if (!validName(name)) return std::nullopt;
  Name field{};
  std::ranges::copy(name, field.begin());
  return field;
}

/// The name in a field; nothing when it is not valid or when bytes follow its end. The view is into the field.
constexpr std::optional<std::string_view> unpackName(const Name& field) {
  const auto end = std::ranges::find(field, '\0');
  if (!std::all_of(end, field.end(), [](char c) { return c == '\0'; })) return std::nullopt;
  const std::string_view name(field.data(), static_cast<std::size_t>(end - field.begin()));
  if (!validName(name)) return std::nullopt;
  return name;
}

}  // namespace coffer::walls
