#include "api/descriptors.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <format>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace coffer::api {
namespace {

Error tooLarge(std::size_t limit) {
  return {ErrorCode::TooLarge, std::format("the descriptor holds more than {} bytes", limit)};
}

Error unreadable(int number) {
  return {ErrorCode::InvalidArgument, std::format("the descriptor cannot be read: {}", std::strerror(number))};
}

Descriptors::Outcome readMemory(int fd, std::size_t limit) {
  std::string bytes(limit + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const auto got = ::pread(fd, bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(unreadable(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > limit) return std::unexpected(tooLarge(limit));
  bytes.resize(size);
  return bytes;
}

}  // namespace

void Descriptors::read(uid_t uid, Fd fd, std::size_t limit, std::function<void(Outcome)> done) {
  // Both questions are answered by the kernel alone, whatever file system the descriptor is of.
  if (::fcntl(fd.get(), F_GET_SEALS) >= 0) return done(readMemory(fd.get(), limit));
  if (::fcntl(fd.get(), F_GETPIPE_SZ) < 0)
    return done(std::unexpected(Error{
        ErrorCode::InvalidArgument, "the descriptor is neither a pipe nor a file in memory; send it through a pipe"}));
  if (perUser_[uid] >= limits::kDescriptorsPerUser)
    return done(
        std::unexpected(Error{ErrorCode::Limit, "too many descriptors of yours are being read; try again later"}));
  ++perUser_[uid];
  auto& reading = readings_.emplace_front();
  reading.place = readings_.begin();
  reading.uid = uid;
  reading.fd = std::move(fd);
  reading.limit = limit;
  reading.done = std::move(done);
  reading.deadline = os::EventSource::timer(loop_, patience_, [this, &reading] {
    finish(reading, std::unexpected(
                        Error{ErrorCode::InvalidArgument,
                              "the descriptor was not complete in time; close its writing end after the last byte"}));
  });
  reading.ready = os::EventSource::io(loop_, reading.fd.get(), EPOLLIN, [this, &reading] { advance(reading); });
  if (!reading.ready) finish(reading, std::unexpected(unreadable(errno)));
}

void Descriptors::advance(Reading& reading) {
  std::array<char, 4096> buffer;
  const iovec vector{.iov_base = buffer.data(), .iov_len = buffer.size()};
  const auto got = ::preadv2(reading.fd.get(), &vector, 1, -1, RWF_NOWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return finish(reading, std::unexpected(unreadable(errno)));
  if (got == 0) return finish(reading, std::move(reading.bytes));
  reading.bytes.append(buffer.data(), static_cast<std::size_t>(got));
  if (reading.bytes.size() > reading.limit) finish(reading, std::unexpected(tooLarge(reading.limit)));
}

void Descriptors::finish(Reading& reading, Outcome outcome) {
  const auto done = std::move(reading.done);
  if (--perUser_[reading.uid] == 0) perUser_.erase(reading.uid);
  readings_.erase(reading.place);
  done(std::move(outcome));
}

std::expected<Fd, Error> sealed(std::string_view bytes) {
  const auto failed = [] {
    return std::unexpected(
        Error{ErrorCode::Internal, std::format("no memory for the content: {}", std::strerror(errno))});
  };
  Fd fd(::memfd_create("cofferdam", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (!fd) return failed();
  while (!bytes.empty()) {
    const auto put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed();
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) return failed();
  // The reader begins at the beginning.
  if (::lseek(fd.get(), 0, SEEK_SET) < 0) return failed();
  return fd;
}

}  // namespace coffer::api
