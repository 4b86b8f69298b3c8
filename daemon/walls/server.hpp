#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/fd.hpp"
#include "walls/walls.hpp"

namespace coffer::walls {

/// Serves requests over SOCK_SEQPACKET, one at a time in the order they come; a verb that may take long runs in a
/// thread of its own meanwhile, and a request about the same names waits for it: a cofferd that was killed while it
/// asked asks again when it is back. Only root's connections are served.
class Server {
 public:
  /// `listener` may be none (tests hand connections over).
  Server(Walls walls, Fd listener);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void addConnection(Fd connection);
  /// Serves what is there; waits at most `milliseconds` (-1: as long as it takes) for the first.
  void turn(int milliseconds);

  /// A listening socket at `path`, 0600, in place of what is there.
  static Result<Fd> listenAt(const std::string& path);
  /// True if the socket listens at `path` and the path still is a socket.
  static bool listensAt(const Fd& socket, const std::string& path);

 private:
  struct Finished {
    std::uint64_t connection;
    std::set<std::string> names;
    Answer answer;
  };
  struct Received {
    Request request;
    Fd fd;
  };
  struct Connection {
    Fd fd;
    bool working = false;             ///< its request is being worked on, or waits; it is not read from meanwhile
    std::optional<Received> waiting;  ///< what it asks, about a name that is still being worked on
  };

  void acceptOne();
  void serve(std::uint64_t id);
  void begin(std::uint64_t id, Received received);
  void startSlow(std::uint64_t id, const Request& request, std::set<std::string> names);
  void collect();
  void send(std::uint64_t id, const Answer& answer);
  static std::optional<Received> receive(int connection);

  Walls walls_;
  Fd listener_;
  Fd wake_;  ///< eventfd: a thread has finished
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t nextConnection_ = 0;
  std::set<std::string> busyNames_;
  std::mutex mutex_;  ///< guards finished_
  std::deque<Finished> finished_;
  std::map<std::uint64_t, std::jthread> threads_;  ///< by connection; joined before anything above goes away
};

}  // namespace coffer::walls
