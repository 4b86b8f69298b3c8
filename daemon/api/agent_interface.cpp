#include "api/agent_interface.hpp"

#include "api/arguments.hpp"
#include "api/rows.hpp"
#include "dbus/names.hpp"

namespace coffer::api {

AgentInterface::AgentInterface(Backend& backend)
    : ViewInterface(names::kAgent, Object::Kind::Agent), backend_(backend) {
  property("Name", &AgentView::name);
  property("Executable", &AgentView::executable);
  property("Installed", &AgentView::installed);
  property("Problem", &AgentView::problem);
  property("Protocol", &AgentView::protocol);
  property("Running", &AgentView::running);

  methods_.push_back({"Test", "a{sv}", "a{sv}", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          const auto model = takeText(options, "model").value_or("");
                          const auto provider = takeText(options, "provider").value_or("");
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.testAgent(
                              request, call->object().name, model, provider,
                              answering<AgentTestView>(call, [](Writer& writer, const AgentTestView& view) {
                                writeAgentTest(writer, view);
                              }));
                        });
                      }});
}

std::expected<AgentView, Error> AgentInterface::read(const Caller& caller, const Object& object) const {
  for (auto& agent : backend_.agents(caller))
    if (agent.name == object.name) return agent;
  return std::unexpected(Error{ErrorCode::UnknownObject, "there is no such agent"});
}

}  // namespace coffer::api
