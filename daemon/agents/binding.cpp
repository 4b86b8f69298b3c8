#include "agents/binding.hpp"

#include <algorithm>

#include "model/limits.hpp"

namespace coffer::agents {
namespace {

bool isName(std::string_view text) {
  return text.size() <= 31 && !text.starts_with('-') &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool isModel(std::string_view text) {
  return text.size() <= limits::kAgentWordBytes && !text.starts_with('-') && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._:/+-").find(c) != std::string_view::npos;
         });
}

}  // namespace

std::expected<Binding, std::string> Binding::parse(std::string_view text) {
  Binding result;
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    result.provider = text.substr(at + 1);
    text = text.substr(0, at);
    if (result.provider.empty())
      return std::unexpected("an agent is AGENT[:MODEL][@PROVIDER]; the provider after @ is missing");
  }
  // People write a colon, the bus gives a slash; a name of an agent has neither.
  if (const auto end = text.find_first_of(":/"); end != std::string_view::npos) {
    result.model = text.substr(end + 1);
    text = text.substr(0, end);
    if (result.model.empty())
      return std::unexpected("an agent is AGENT[:MODEL][@PROVIDER]; the model after the name is missing");
  }
  result.agent = text;
  if (result.agent.empty() || !isName(result.agent))
    return std::unexpected("an agent is AGENT[:MODEL][@PROVIDER]; not the name of an agent: " + result.agent);
  if (!isName(result.provider)) return std::unexpected("not the name of a provider: " + result.provider);
  if (!isModel(result.model)) return std::unexpected("not the name of a model: " + result.model);
  return result;
}

std::string Binding::text() const {
  return agent + (model.empty() ? "" : "/" + model) + (provider.empty() ? "" : "@" + provider);
}

Binding Binding::over(const Binding& below) const {
  Binding result = *this;
  if (result.agent.empty()) result.agent = below.agent;
  if (result.agent != below.agent) return result;
  if (result.model.empty()) result.model = below.model;
  if (result.provider.empty()) result.provider = below.provider;
  return result;
}

}  // namespace coffer::agents
