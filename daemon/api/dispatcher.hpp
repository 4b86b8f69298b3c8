#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>

#include "api/authority.hpp"
#include "api/backend.hpp"
#include "api/bouncer.hpp"
#include "api/call.hpp"
#include "api/connections.hpp"
#include "api/interfaces.hpp"

namespace coffer::api {

/// Takes every method call that reaches us and leads it through the same gates in the same order: who asks, does such
/// an object exist for them, what does the member take, does polkit allow it, and (time has passed) does all that still
/// hold. It is a filter in front of sd-bus's own objects, of which we have none: those answer the same for every caller
/// and cannot wait for polkit before they say whether an object exists.
class Dispatcher {
 public:
  Dispatcher(sd_bus* bus, Backend& backend, const Interfaces& interfaces, const Bouncer& bouncer,
             Connections& connections, Authority& authority)
      : bus_(bus),
        backend_(backend),
        interfaces_(interfaces),
        bouncer_(bouncer),
        connections_(connections),
        authority_(authority) {}

  /// Negative errno when the filter cannot be added.
  int start();

 private:
  /// What an admitted call does, and what it takes.
  struct Action {
    Operation operation = Operation::Call;
    std::string interface;
    std::string member;
    bool concernsOthers = false;
    std::function<void(const CallPointer&)> run;
  };
  using Next = std::function<void(const CallPointer&)>;

  static int onMessage(sd_bus_message* message, void* data, sd_bus_error* error);
  void take(const CallPointer& call);
  /// What comes of a call whose user is known.
  void look(const CallPointer& call);
  void route(const CallPointer& call);
  /// Whose the call's object is; what it takes away has an owner still when it comes again.
  [[nodiscard]] std::optional<Ownership> ownerOf(const Call& call) const;
  [[nodiscard]] bool visible(const Call& call) const;
  [[nodiscard]] bool own(const Call& call) const;
  void unknownObject(Call& call) const;
  /// The call's own action; nothing when it was answered with an error.
  [[nodiscard]] std::optional<Action> actionOf(Call& call) const;
  [[nodiscard]] std::optional<Action> standardAction(Call& call) const;
  [[nodiscard]] std::optional<Action> propertyAction(Call& call) const;
  void admit(const CallPointer& call, Action action);
  /// Asks polkit, which may ask a person if `interactive`, and goes on when it says yes; `denied` answers otherwise.
  using Denied = std::function<void(const CallPointer&, Authority::Verdict)>;
  void authorise(const CallPointer& call, std::string_view action, bool interactive, Next allowed, Denied denied);
  /// Whether one more denial of this user is said in the journal, which has room for others' lines too.
  [[nodiscard]] bool worthALine(uid_t uid);
  void introspect(Call& call) const;
  void managedObjects(Call& call) const;
  [[nodiscard]] std::vector<std::string> children(const Call& call) const;
  [[nodiscard]] std::optional<uid_t> scope(const Caller& caller) const;

  sd_bus* bus_;
  Backend& backend_;
  const Interfaces& interfaces_;
  const Bouncer& bouncer_;
  Connections& connections_;
  Authority& authority_;
  struct Told {
    std::uint64_t since = 0;
    std::uint64_t count = 0;
  };
  std::map<std::string, std::vector<CallPointer>> unmet_;  ///< calls of connections whose user is asked for
  std::map<uid_t, std::size_t> asking_;
  std::map<uid_t, Told> denied_;
  Slot filter_;
};

}  // namespace coffer::api
