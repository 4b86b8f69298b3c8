#include "api/introspection.hpp"

#include "api/interface_texts.hpp"
#include "dbus/names.hpp"

namespace coffer::api {
namespace {

constexpr std::string_view kHead =
    R"xml(<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node>
  <interface name="org.freedesktop.DBus.Peer">
    <method name="Ping"/>
    <method name="GetMachineId">
      <arg name="machine_uuid" type="s" direction="out"/>
    </method>
  </interface>
  <interface name="org.freedesktop.DBus.Introspectable">
    <method name="Introspect">
      <arg name="xml_data" type="s" direction="out"/>
    </method>
  </interface>
)xml";

constexpr std::string_view kPropertiesText =
    R"xml(  <interface name="org.freedesktop.DBus.Properties">
    <method name="Get">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="property_name" type="s" direction="in"/>
      <arg name="value" type="v" direction="out"/>
    </method>
    <method name="GetAll">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="properties" type="a{sv}" direction="out"/>
    </method>
    <method name="Set">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="property_name" type="s" direction="in"/>
      <arg name="value" type="v" direction="in"/>
    </method>
    <signal name="PropertiesChanged">
      <arg name="interface_name" type="s"/>
      <arg name="changed_properties" type="a{sv}"/>
      <arg name="invalidated_properties" type="as"/>
    </signal>
  </interface>
)xml";

constexpr std::string_view kObjectManagerText =
    R"xml(  <interface name="org.freedesktop.DBus.ObjectManager">
    <method name="GetManagedObjects">
      <arg name="objects" type="a{oa{sa{sv}}}" direction="out"/>
    </method>
    <signal name="InterfacesAdded">
      <arg name="object" type="o"/>
      <arg name="interfaces" type="a{sa{sv}}"/>
    </signal>
    <signal name="InterfacesRemoved">
      <arg name="object" type="o"/>
      <arg name="interfaces" type="as"/>
    </signal>
  </interface>
)xml";

constexpr std::string_view kLogControlText =
    R"xml(  <interface name="org.freedesktop.LogControl1">
    <property name="LogLevel" type="s" access="readwrite">
      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="false"/>
    </property>
    <property name="LogTarget" type="s" access="readwrite">
      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="false"/>
    </property>
    <property name="SyslogIdentifier" type="s" access="read">
      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="const"/>
    </property>
  </interface>
)xml";

std::string_view textOf(std::string_view interface) {
  if (interface == names::kLogControl) return kLogControlText;
  for (const auto& [name, text] : kInterfaceTexts)
    if (name == interface) return text;
  return {};
}

}  // namespace

std::string describeNode(std::string_view interface, bool objectManager, const std::vector<std::string>& children) {
  std::string text(kHead);
  if (!interface.empty()) {
    text += kPropertiesText;
    text += textOf(interface);
  }
  if (objectManager) text += kObjectManagerText;
  for (const auto& child : children)
    text += "  <node name=\"" + child + "\"/>\n";
  text += "</node>\n";
  return text;
}

}  // namespace coffer::api
