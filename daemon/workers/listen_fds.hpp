#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace coffer::workers {

/// The descriptor that PID 1 passed to this unit under that name. sd_listen_fds() cannot be asked: it compares
/// LISTEN_PID with its own pid, which in a PID namespace of its own (PrivatePIDs=) is another number for the same
/// process. The environment is PID 1's, since nothing else of ours starts these programs.
inline std::optional<int> listenFd(std::string_view name) {
  constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
  constexpr int kMost = 16;  // more than any unit of ours is given
  const char* fds = std::getenv("LISTEN_FDS");
  const char* names = std::getenv("LISTEN_FDNAMES");
  if (!fds || !names) return std::nullopt;
  const std::string_view text = fds;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count > kMost) return std::nullopt;
  std::string_view rest = names;
  for (int at = 0; at < count; ++at) {
    const auto colon = rest.find(':');
    if (rest.substr(0, colon) == name) return kFirst + at;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

}  // namespace coffer::workers
