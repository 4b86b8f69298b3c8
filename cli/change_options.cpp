#include "change_options.hpp"

#include <array>
#include <string>

#include <systemd/sd-id128.h>

#include "dbus/names.hpp"

namespace coffer::cli {

Dictionary changeOptions() {
  sd_id128_t id{};
  if (sd_id128_randomize(&id) < 0) return {};
  std::array<char, SD_ID128_STRING_MAX> text{};
  return {{std::string(names::kRequestId), sdbus::Variant(std::string(sd_id128_to_string(id, text.data())))}};
}

}  // namespace coffer::cli
