#include "contract.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace coffer::api::test {
namespace {

std::string annotations(GDBusAnnotationInfo** all) {
  std::string text;
  for (; all != nullptr && *all != nullptr; ++all)
    text += std::string(" @") + (*all)->key + "=" + (*all)->value;
  return text;
}

std::string arguments(GDBusArgInfo** all) {
  std::string text;
  for (; all != nullptr && *all != nullptr; ++all)
    text += std::string(" ") + (*all)->name + ":" + (*all)->signature;
  return text;
}

}  // namespace

std::string interfaceFile(std::string_view name) {
  std::ifstream file(std::string(COFFER_DBUS_DIRECTORY) + "/" + std::string(name) + ".xml");
  return {std::istreambuf_iterator<char>(file), {}};
}

Contract::Contract() {
  for (const auto* name : {"Manager", "Project", "Task", "Agent", "Provider"}) {
    const auto text = interfaceFile(std::string("org.cofferdam.Cofferdam1.") + name);
    auto* node = g_dbus_node_info_new_for_xml(text.c_str(), nullptr);
    if (node == nullptr || node->interfaces[0] == nullptr)
      throw std::runtime_error(std::string("no interface in ") + name);
    nodes_.emplace_back(node);
    interfaces_.push_back(node->interfaces[0]);
  }
}

GDBusInterfaceInfo* Contract::named(std::string_view name) const {
  for (auto* interface : interfaces_)
    if (interface->name == name) return interface;
  return nullptr;
}

std::string annotation(GDBusAnnotationInfo** all, std::string_view name) {
  for (; all != nullptr && *all != nullptr; ++all)
    if ((*all)->key == name) return (*all)->value;
  return {};
}

std::string signature(GDBusArgInfo** all) {
  std::string text;
  for (; all != nullptr && *all != nullptr; ++all)
    text += (*all)->signature;
  return text;
}

std::vector<std::string> described(GDBusInterfaceInfo* interface) {
  std::vector<std::string> lines = {std::string("interface ") + interface->name + annotations(interface->annotations)};
  for (auto** each = interface->methods; each != nullptr && *each != nullptr; ++each)
    lines.push_back(std::string("method ") + (*each)->name + arguments((*each)->in_args) + " ->" +
                    arguments((*each)->out_args) + annotations((*each)->annotations));
  for (auto** each = interface->properties; each != nullptr && *each != nullptr; ++each)
    lines.push_back(std::string("property ") + (*each)->name + ":" + (*each)->signature + " " +
                    std::to_string((*each)->flags) + annotations((*each)->annotations));
  for (auto** each = interface->signals; each != nullptr && *each != nullptr; ++each)
    lines.push_back(std::string("signal ") + (*each)->name + arguments((*each)->args) +
                    annotations((*each)->annotations));
  std::ranges::sort(lines);
  return lines;
}

}  // namespace coffer::api::test
