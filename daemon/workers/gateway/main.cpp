#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "os/fd.hpp"
#include "workers/gateway/key.hpp"
#include "workers/gateway/server.hpp"
#include "workers/listen_fds.hpp"

// coffer-gateway: carries one run's model requests to the one provider its key is for. It binds nothing and opens
// nothing but its request, its key and its output; the listener in the sandbox's namespace comes with the unit, under
// the name `model`.

namespace {

using namespace coffer;
using namespace coffer::gateway;

std::expected<std::string, Error> readFile(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(Error{ErrorCode::Internal, path + ": " + std::strerror(errno)});
  std::string bytes(limit + 1, '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0) return std::unexpected(Error{ErrorCode::Internal, path + ": " + std::strerror(errno)});
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  if (at > limit) return std::unexpected(Error{ErrorCode::TooLarge, path + " is too long"});
  bytes.resize(at);
  return bytes;
}

/// Whole or not at all: cofferd never reads half a report.
bool writeReport(const std::string& directory, const Records& report) {
  const auto temporary = directory + "/report.tmp";
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto bytes = report.serialize();
  return file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
         ::fsync(file.get()) == 0 && ::rename(temporary.c_str(), (directory + "/report").c_str()) == 0;
}

int refuse(const std::string& directory, const Error& error) {
  std::fprintf(stderr, "coffer-gateway: %s\n", error.message.c_str());
  Records report;
  report.add("refused", errorName(error.code));
  report.add("message", error.message);
  return error.code != ErrorCode::Internal && writeReport(directory, report) ? 0 : 1;
}

/// The listener that came with the unit under this name; -1 without one.
int listenerNamed(const char* wanted) {
  const int found = workers::listenFd(wanted).value_or(-1);
  return found >= 0 && sd_is_socket(found, AF_INET, SOCK_STREAM, 1) > 0 ? found : -1;
}

int serve(const std::string& in, const std::string& out) {
  const auto bytes = readFile(in + "/request", limits::kReportBytes);
  if (!bytes) return refuse(out, bytes.error());
  const auto records = Records::parse(*bytes);
  if (!records) return refuse(out, {ErrorCode::InvalidArgument, records.error()});
  auto settings = parseSettings(*records);
  if (!settings) return refuse(out, settings.error());
  auto key = readKey();
  if (!key) return refuse(out, key.error());
  auto usage = UsageFile::open(out + "/usage");
  if (!usage) return refuse(out, usage.error());
  const int listener = listenerNamed("model");
  if (listener < 0) return refuse(out, {ErrorCode::Internal, "no listener named model came with the unit"});

  asio::io_context context(1);
  Server server(context, *std::move(settings), *std::move(key), *std::move(usage));
  asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const error_code& error, int) {
    if (!error) asio::co_spawn(context, server.stop(), [&](const std::exception_ptr&) { context.stop(); });
  });
  asio::co_spawn(context, server.serve(tcp::acceptor(context, tcp::v4(), listener)), asio::detached);
  sd_notify(0, "READY=1");
  context.run();

  sd_notify(0, "STOPPING=1");
  if (server.failed()) return 1;
  if (auto ended = server.usage.endOpen(); !ended) return 1;
  Records report;
  server.usage.totals().write(report);
  return writeReport(out, report) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string in = "/in";
  std::string out = "/out";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option(argv[i]);
    if (option == "--in")
      in = argv[i + 1];
    else if (option == "--out")
      out = argv[i + 1];
    else
      return 2;
  }
  // Its memory holds the key.
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(SIGPIPE, SIG_IGN);
  int result = 1;
  try {
    result = serve(in, out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "coffer-gateway: %s\n", error.what());
  }
  // A name lookup may still hang in libc; everything that matters is on disk.
  std::fflush(nullptr);
  std::_Exit(result);
}
