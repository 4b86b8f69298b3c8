#include "api/service.hpp"

#include "api/agent_interface.hpp"
#include "api/log_control_interface.hpp"
#include "api/manager_interface.hpp"
#include "api/project_interface.hpp"
#include "api/provider_interface.hpp"
#include "api/task_interface.hpp"

namespace coffer::api {

Service::Service(sd_event* loop, sd_bus* bus, Backend& backend, Authority& authority, Identify identify,
                 Bouncer bouncer)
    : backend_(backend),
      bouncer_(bouncer),
      descriptors_(loop),
      connections_(bus, std::move(identify)),
      watches_(bus,
               [this](const std::string& sender) {
                 subscriptions_.gone(sender);
                 waits_.gone(sender);
               }),
      waits_(loop, backend, watches_),
      subscriptions_(bus, backend, interfaces_, watches_, waits_),
      dispatcher_(bus, backend, interfaces_, bouncer_, connections_, authority) {
  interfaces_.add(std::make_unique<ManagerInterface>(backend, subscriptions_));
  interfaces_.add(std::make_unique<ProjectInterface>(backend));
  interfaces_.add(std::make_unique<TaskInterface>(backend, waits_));
  interfaces_.add(std::make_unique<AgentInterface>(backend));
  interfaces_.add(std::make_unique<ProviderInterface>(backend, descriptors_));
  interfaces_.add(std::make_unique<LogControlInterface>());
}

Service::~Service() { backend_.observe(nullptr); }

int Service::start() {
  backend_.observe(&subscriptions_);
  return dispatcher_.start();
}

}  // namespace coffer::api
