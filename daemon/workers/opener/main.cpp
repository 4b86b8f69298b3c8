// Opens one directory as the user whose uid this process has, so that the kernel alone says what that user may reach,
// and hands the descriptor back. It does nothing else: what it opened is cloned, bound and read by others.

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int kSocket = 3;           // SD_LISTEN_FDS_START: the one descriptor this unit is given
constexpr std::size_t kPath = 4096;  // PATH_MAX

}  // namespace

int main() {
  char path[kPath + 1];
  const auto size = ::recv(kSocket, path, kPath, 0);
  if (size <= 0) return 1;
  path[size] = '\0';

  const int directory = std::strlen(path) == static_cast<std::size_t>(size)
                            ? ::open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                            : (errno = EINVAL, -1);
  std::int32_t number = directory < 0 ? errno : 0;
  iovec data{&number, sizeof number};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (directory >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &directory, sizeof directory);
  }
  if (::sendmsg(kSocket, &message, MSG_NOSIGNAL) < 0) return 1;
  // The descriptor is in flight until the other side has taken it; it says so by closing.
  char last = 0;
  static_cast<void>(::recv(kSocket, &last, 1, 0));
  return 0;
}
