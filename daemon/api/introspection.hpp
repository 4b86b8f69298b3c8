#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coffer::api {

/// The description of one node: the standard interfaces, the one of ours it has (empty: none) as in dbus/*.xml, whether
/// it is the object manager, and the names of nodes below it.
[[nodiscard]] std::string describeNode(std::string_view interface, bool objectManager,
                                       const std::vector<std::string>& children);

}  // namespace coffer::api
