#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "engine/check.hpp"
#include "engine/identities.hpp"
#include "engine/name_service.hpp"
#include "engine/places.hpp"
#include "engine/share.hpp"
#include "engine/walls_answers.hpp"
#include "model/limits.hpp"
#include "model/uid_range.hpp"
#include "sandbox/systemd.hpp"
#include "store/store.hpp"
#include "walls/client.hpp"

namespace coffer::engine {

/// What performing a step needs of the machine, on one thread. All of it outlives every step.
class Context {
 public:
  sd_event* event = nullptr;
  sd_bus* bus = nullptr;
  sandbox::Systemd* systemd = nullptr;
  walls::WallsClient* walls = nullptr;
  store::Store* store = nullptr;
  NameService* names = nullptr;
  Identities identities;
  Places places;
  /// Why this machine starts no sandbox, as far as that is known without trying; mostly nothing. No uid is taken then.
  std::optional<Check> obstacle;
  /// Who waits for the answers of coffer-walls that it is being asked for; nothing while it is not.
  std::optional<std::vector<Completion<WallsAnswers>>> asking;
  Share repositories{limits::kRepositoriesOfUser};  ///< of owners, that are read or written
  Share plans{limits::kPlansOfUser};                ///< of persons, that are read before their task is made
  std::string secret;                               ///< the machine's, from which dummy keys are made

  /// The uid that the holder has, taken for it when it has none yet. `task` is 0 for what belongs to no task.
  std::expected<std::uint32_t, Error> uid(model::UidPart part, std::uint64_t task, const std::string& holder);
  /// Gives back what the holder has; nothing of that uid may run or be on disk any more.
  void releaseUid(std::uint64_t task, const std::string& holder);
  /// Gives back all that a task has, or all whose holder's name begins so.
  void releaseUids(std::uint64_t task, const std::string& prefix = {});

  /// What a sandbox shows its gateway instead of a key. The same conversation has the same one, also after a restart;
  /// it is worth nothing anywhere else.
  [[nodiscard]] std::string dummyKey(std::uint64_t task, const std::string& conversation) const;

  /// Commits of a project that have a checkout, and so are whole in its store.
  [[nodiscard]] std::vector<std::string> bases(std::uint64_t project) const;
};

}  // namespace coffer::engine
