// Calls that name themselves: the same one again gets the same answer and has no second effect.

#include <utility>

#include "engine/engine.hpp"
#include "os/clock.hpp"
#include "os/log.hpp"

namespace coffer::engine {

std::expected<std::optional<std::string>, Error> Engine::answered(const api::Request& request,
                                                                  const std::string& operation) const {
  if (request.id.empty()) return std::nullopt;
  return store_->requests().find(request.caller.uid, request.id, operation);
}

std::expected<Engine::Answer, Error> Engine::once(const api::Request& request, const std::string& operation,
                                                  const std::function<std::expected<std::string, Error>()>& change) {
  auto transaction = store_->transaction();
  auto earlier = answered(request, operation);
  if (!earlier) return std::unexpected(earlier.error());
  if (*earlier) return transaction.finish(Answer{**std::move(earlier), true});
  auto answer = change();
  if (!answer) return std::unexpected(answer.error());
  if (!request.id.empty())
    if (auto kept = store_->requests().keep({request.caller.uid, request.id, operation, *answer, os::now()}); !kept)
      return std::unexpected(kept.error());
  return transaction.finish(Answer{*std::move(answer), false});
}

// What was reserved for a project that comes to nothing: its name, and the answer that would say there is one.
bool Engine::abandonProject(const store::Project& project) {
  auto transaction = store_->transaction();
  auto gone = store_->projects().remove(project.id);
  if (gone) gone = store_->requests().drop(project.owner, "AddProject", std::to_string(project.id));
  if (gone) gone = transaction.finish();
  if (gone) return true;
  const auto now = store_->projects().get(project.id);
  if (now ? now->removed : now.error().code == ErrorCode::UnknownObject) return true;
  log::warning("project " + std::to_string(project.id) + " cannot be given up: " + gone.error().message);
  return false;
}

}  // namespace coffer::engine
