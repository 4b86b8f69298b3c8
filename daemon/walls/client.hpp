#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "os/fd.hpp"
#include "walls/request.hpp"

namespace coffer::walls {

/// The listeners of a sandbox's namespace: non-blocking, close-on-exec, already listening. The caller owns them;
/// coffer-walls keeps its own copies, so closing these ends nothing.
struct Listeners {
  Fd model;   ///< tcp 127.0.0.1:4180
  Fd dnsUdp;  ///< udp 127.0.0.1:53
  Fd dnsTcp;  ///< tcp 127.0.0.1:53
};

struct Refusals {
  std::vector<RefusalEntry> entries;
  bool full = false;  ///< there were more than the set holds
};

/// A lower directory's owner and who shall be seen as its owner; all uids are of our own range.
struct IdMap {
  std::uint32_t fromUid = 0;
  std::uint32_t fromGid = 0;
  std::uint32_t to = 0;  ///< uid and gid
};

/// A workspace's writable layer: a directory of a mounted task image, made by the first mount.
struct Layer {
  std::string image;
  std::string directory;
};

/// cofferd's side of walls/request.hpp. Each call blocks until the answer or the deadline; kernel work is milliseconds,
/// but an unmount writes back what is dirty. After a deadline the connection is given up and the call fails with Busy:
/// the work goes on over there, and the same call later says how it ended, since every verb may be repeated. A
/// connection lost because coffer-walls restarted is made anew and the call repeated, once. Not thread-safe.
/// Descriptors given to a call stay the caller's.
///
/// Errors: InvalidArgument (a name, uid or descriptor that cannot be meant), NotFound (no such image or namespace),
/// Busy (something still holds it: repeat), NoSpace, Limit, NameTaken (exists and is something else), Unsupported (the
/// kernel lacks it), Environment (coffer-walls is not there, no loop device), Sandbox (the kernel refused; the message
/// has the errno's words).
class WallsClient {
 public:
  explicit WallsClient(std::string socketPath = std::string(kSocketPath),
                       std::chrono::milliseconds deadline = std::chrono::seconds(10));
  /// Over a connection that exists already; there is no reconnecting then.
  explicit WallsClient(Fd connection, std::chrono::milliseconds deadline = std::chrono::seconds(10));

  std::expected<std::uint32_t, Error> hello();
  /// Has coffer-walls try something, in two halves for who must not wait: the answer is there when the descriptor,
  /// which stays the client's, can be read. Until it is taken nothing else may be asked.
  std::expected<int, Error> askProbe(Flag what);
  /// Nothing when it can be had, or why it cannot; an error is that there is no answer, Unsupported that coffer-walls
  /// does not know the question.
  std::expected<std::optional<Error>, Error> takeProbe();
  [[nodiscard]] const std::string& socketPath() const { return socketPath_; }
  std::expected<std::vector<std::pair<Kind, std::string>>, Error> list();

  /// The state directory as coffer-walls sees it. A lower directory for mountWorkspace() is opened beneath this
  /// descriptor: one that was opened in another mount namespace cannot be cloned.
  std::expected<Fd, Error> openState();

  std::expected<Listeners, Error> createNetns(std::string_view name);
  std::expected<void, Error> removeNetns(std::string_view name);
  std::expected<Refusals, Error> refusals(std::string_view netns);

  /// `image` is opened read-write; the call is refused with Busy while the image is still attached from an earlier
  /// mount.
  std::expected<void, Error> mountImage(std::string_view name, int image, bool noExec = false);
  std::expected<void, Error> unmountImage(std::string_view name);
  /// A directory IMAGE/NAME, 0700, owned by uid:uid.
  std::expected<void, Error> makeDirectory(std::string_view image, std::string_view name, std::uint32_t uid);
  /// True: gone. False: a bounded part was done, call again.
  std::expected<bool, Error> removeDirectory(std::string_view image, std::string_view name);

  /// With a layer: overlay of it on `lower`. Without: `lower` itself, read-only.
  std::expected<void, Error> mountWorkspace(std::string_view name, int lower, IdMap map,
                                            const std::optional<Layer>& layer = std::nullopt, bool readOnly = false);
  std::expected<void, Error> unmountWorkspace(std::string_view name);

  std::expected<void, Error> attachSource(std::string_view name, int directory, bool writable,
                                          const std::optional<IdMap>& map = std::nullopt);
  std::expected<void, Error> detachSource(std::string_view name);

  /// Where our own uids begin, for the host table and for maps of owners; the table's sets stay.
  std::expected<void, Error> useUids(std::uint32_t base);
  std::expected<void, Error> hostAdd(HostSetKind set, const HostEntry& entry);
  std::expected<void, Error> hostRemove(HostSetKind set, const HostEntry& entry);
  std::expected<void, Error> hostReplace(HostSetKind set, std::span<const HostEntry> entries);

 private:
  struct Answer {
    Reply reply;
    std::vector<Fd> fds;
  };
  std::expected<Answer, Error> call(const Request& request, int fd = -1);
  std::expected<Answer, Error> exchange(const Request& request, int fd);
  std::expected<void, Error> send(const Request& request, int fd);
  std::expected<Answer, Error> receive();
  static std::expected<Answer, Error> judged(std::expected<Answer, Error> answer);
  std::expected<void, Error> connect();
  std::expected<void, Error> plain(Verb verb, std::string_view name, int fd = -1, std::uint32_t flags = 0);
  std::expected<void, Error> hostChange(HostSetKind set, const HostEntry& entry, bool remove);

  std::string socketPath_;
  std::chrono::milliseconds deadline_;
  Fd connection_;
};

}  // namespace coffer::walls
