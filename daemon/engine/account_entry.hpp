#pragma once

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>

namespace coffer::engine {

/// An entry of a group names all its members; more than this is one that cannot be told from a fault.
inline constexpr std::size_t kEntryMost = std::size_t{1} << 22U;

/// Calls one of the getpwnam_r family with a buffer that is large enough; the entry points into it. Nothing when there
/// is none. It blocks: only NameService runs it.
template <class Entry, class Get>
std::optional<Entry> look(Get get, std::string& buffer) {
  buffer.resize(4096);
  while (true) {
    Entry entry{};
    Entry* found = nullptr;
    const int error = get(&entry, buffer.data(), buffer.size(), &found);
    if (error == EINTR) continue;
    if (error == ERANGE && buffer.size() < kEntryMost) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (error != 0 || found == nullptr) return std::nullopt;
    return entry;
  }
}

}  // namespace coffer::engine
