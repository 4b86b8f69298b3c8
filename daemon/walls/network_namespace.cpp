#include "walls/network_namespace.hpp"

#include <exception>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "model/limits.hpp"
#include "walls/loopback.hpp"

namespace coffer::walls {

namespace {

/// Runs `work` in a thread that ends with it, so that no thread of the program is ever left in another namespace.
template <class T, class Work>
Result<T> inThread(Work work) {
  Result<T> result = refuse(ErrorCode::Internal, "the thread gave no result");
  try {
    std::thread([&] {
      try {
        result = work();
      } catch (const std::exception& e) {
        result = refuse(ErrorCode::Internal, e.what());
      }
    }).join();
  } catch (const std::exception& e) {
    return refuse(ErrorCode::Environment, std::string("cannot start a thread: ") + e.what());
  }
  return result;
}

Result<Fd> makeListener(int type, std::uint16_t port) {
  Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("making a listener");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failed("binding a listener");
  if (type == SOCK_STREAM && ::listen(socket.get(), limits::kListenBacklog) != 0) return failed("listening");
  return socket;
}

Result<NetworkNamespace> build() {
  if (::unshare(CLONE_NEWNET) != 0) return failed("making a network namespace");
  NetworkNamespace made;
  made.ns = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!made.ns) return failed("opening the network namespace");
  if (auto rules = installSandboxRules(); !rules) return std::unexpected(rules.error());
  if (auto loopback = prepareLoopback(); !loopback) return std::unexpected(loopback.error());
  auto model = makeListener(SOCK_STREAM, kModelPort);
  if (!model) return std::unexpected(model.error());
  auto dnsUdp = makeListener(SOCK_DGRAM, kDnsPort);
  if (!dnsUdp) return std::unexpected(dnsUdp.error());
  auto dnsTcp = makeListener(SOCK_STREAM, kDnsPort);
  if (!dnsTcp) return std::unexpected(dnsTcp.error());
  made.model = std::move(*model);
  made.dnsUdp = std::move(*dnsUdp);
  made.dnsTcp = std::move(*dnsTcp);
  return made;
}

}  // namespace

Result<NetworkNamespace> makeNetworkNamespace() { return inThread<NetworkNamespace>(build); }

Result<SandboxRefusals> refusalsIn(int ns) {
  return inThread<SandboxRefusals>([ns]() -> Result<SandboxRefusals> {
    if (::setns(ns, CLONE_NEWNET) != 0) return failed("entering a network namespace");
    return readSandboxRefusals();
  });
}

}  // namespace coffer::walls
