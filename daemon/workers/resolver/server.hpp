#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "os/fd.hpp"
#include "workers/resolver/names.hpp"

namespace coffer::resolver {

/// Serves a sandbox's port 53 on sockets that were made in the sandbox's namespace; has no network of its own.
class Server {
 public:
  /// @param udp, tcp  bound (and, for TCP, listening) sockets; either may be none
  Server(Fd udp, Fd tcp, std::string outDirectory);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until SIGTERM or SIGINT, then writes the report.
  std::expected<void, Error> run();

 private:
  struct Client;

  static int onUdp(sd_event_source* source, int fd, std::uint32_t events, void* self);
  static int onTcp(sd_event_source* source, int fd, std::uint32_t events, void* self);
  static int onClient(sd_event_source* source, int fd, std::uint32_t events, void* client);
  static int onIdle(sd_event_source* source, std::uint64_t usec, void* client);

  /// The reply to one message, with everything counted; empty for silence.
  std::vector<std::uint8_t> handle(std::span<const std::uint8_t> message);
  /// False when the client is to be closed.
  bool read(Client& client);
  void close(Client& client);
  /// What was refused, before the answer says so: whoever got an answer is counted, however this process ends.
  void writeDown();
  bool write(const char* name, bool durable);

  Fd udp_;
  Fd tcp_;
  std::string out_;
  sd_event* event_ = nullptr;
  bool unwritten_ = false;  ///< names or counts that are not in the file
  std::map<Client*, std::unique_ptr<Client>> clients_;
  Names names_;
  Rate rate_;
};

}  // namespace coffer::resolver
