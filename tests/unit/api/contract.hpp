#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gio/gio.h>

namespace coffer::api::test {

/// The interface files of dbus/, parsed by somebody else's parser.
class Contract {
 public:
  Contract();
  [[nodiscard]] const std::vector<GDBusInterfaceInfo*>& interfaces() const { return interfaces_; }
  [[nodiscard]] GDBusInterfaceInfo* named(std::string_view name) const;

 private:
  struct Unref {
    void operator()(GDBusNodeInfo* node) const { g_dbus_node_info_unref(node); }
  };
  std::vector<std::unique_ptr<GDBusNodeInfo, Unref>> nodes_;
  std::vector<GDBusInterfaceInfo*> interfaces_;
};

/// The file of an interface, as text.
[[nodiscard]] std::string interfaceFile(std::string_view name);

[[nodiscard]] std::string annotation(GDBusAnnotationInfo** annotations, std::string_view name);

/// Of all "in" or "out" arguments of a method.
[[nodiscard]] std::string signature(GDBusArgInfo** arguments);

/// Everything an interface says, one member a line, for comparing.
[[nodiscard]] std::vector<std::string> described(GDBusInterfaceInfo* interface);

}  // namespace coffer::api::test
