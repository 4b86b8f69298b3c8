// Who the users of this machine are, and that nobody else has what is theirs.

#include <functional>
#include <utility>

#include "dbus/names.hpp"
#include "engine/accounts.hpp"
#include "engine/engine.hpp"
#include "engine/uid_clash.hpp"
#include "os/log.hpp"

namespace coffer::engine {

// Uids of ours that others have too would let these others read what an agent wrote, and pass the host table.
Async<Done> Engine::checkUids() {
  const auto from = std::to_string(ranges_.first());
  const auto to = std::to_string(ranges_.last());
  const auto obstacle = [](std::string problem, std::string remedy) {
    return fails("uids", "not ours alone", std::move(problem), std::move(remedy));
  };
  const auto clashes = [&](const std::string& clash) {
    return obstacle("the host uids " + from + " to " + to + " are to be Cofferdam's alone, but " + clash,
                    "change that, or set another uid-base in /etc/cofferdam/cofferd.toml; then systemctl restart "
                    "cofferd");
  };
  const auto told = [](const Check& check) {
    log::write(log::Level::Error, refusalOf(check).message, {}, names::kMessageSystem);
  };
  std::optional<Check> known;
  if (const auto wanted = configuration_.current().uidBase; wanted == ranges_.first()) {
    if (const auto clash = uidClashInFiles(ranges_)) known = clashes(*clash);
  } else if (!configuration_.problem().empty()) {
    // What is wrong with the file is a row of its own.
    known = obstacle("tasks and projects have uids from " + from +
                         " on, and whether cofferd.toml still says so is not known while it has a fault",
                     "mend /etc/cofferdam/cofferd.toml, then systemctl restart cofferd");
  } else {
    known = obstacle("cofferd.toml says uid-base = " + std::to_string(wanted) +
                         ", but tasks and projects still have uids from " + from + " on",
                     "delete them, or put uid-base = " + from + " back; then systemctl restart cofferd");
  }
  context_.obstacle = known ? known : uidsOfOthers_;
  if (known) told(*known);

  std::function<std::optional<std::string>()> question = [ranges = ranges_] { return uidClashByName(ranges); };
  const auto clash = co_await names_->ask(std::move(question));
  uidsOfOthers_.reset();
  if (!clash)
    uidsOfOthers_ = obstacle(clash.error().message, "getent passwd " + from + ", then systemctl reload cofferd");
  else if (*clash)
    uidsOfOthers_ = clashes(**clash);
  context_.obstacle = known ? known : uidsOfOthers_;
  if (uidsOfOthers_) told(*uidsOfOthers_);
  co_return Done{};
}

Async<Done> Engine::learnNames() {
  const auto providers = store_->providers().list(std::nullopt);
  if (!providers) co_return Done{};
  Accounts all;
  for (const auto& provider : *providers) {
    all.users.insert(all.users.end(), provider.users.begin(), provider.users.end());
    all.groups.insert(all.groups.end(), provider.groups.begin(), provider.groups.end());
  }
  if (all.users.empty() && all.groups.empty()) co_return Done{};
  std::function<AccountNames()> question = [all] { return namesOf(all); };
  auto names = co_await names_->ask(std::move(question));
  if (!names) {
    log::warning(names.error().message);
    co_return Done{};
  }
  // What was learnt meanwhile stays.
  names->users.merge(accountNames_.users);
  names->groups.merge(accountNames_.groups);
  accountNames_ = std::move(*names);
  if (observer_)
    for (const auto& provider : *providers)
      if (provider.machine) observer_->objectChanged(api::ObjectKind::Provider, provider.id);
  co_return Done{};
}

void Engine::meet(uid_t uid, api::Done<api::Nothing> done) {
  if (!names_) return done(api::Nothing{});
  meetNow(uid, std::move(done));
}

Detached Engine::meetNow(uid_t uid, api::Done<api::Nothing> done) {
  const auto name = co_await currentName(*names_, uid);
  if (!name) {
    done(std::unexpected(name.error()));
    co_return;
  }
  const auto known = store_->owners().name(uid);
  if (!known) {
    done(std::unexpected(known.error()));
    co_return;
  }
  if (*name && *known && **name != **known)
    if (auto gone = disown(uid, **known, **name); !gone) {
      done(std::unexpected(gone.error()));
      co_return;
    }
  if (*name)
    callers_[uid] = **name;
  else
    callers_.erase(uid);
  done(api::Nothing{});
}

std::expected<void, Error> Engine::disown(uid_t uid, const std::string& was, const std::string& now) {
  store::TaskFilter open;
  open.owner = uid;
  open.ended = false;
  const auto tasks = store_->tasks().list(open, 0, limits::kOpenTasksOfUser);
  if (!tasks) return std::unexpected(tasks.error());
  {
    auto transaction = store_->transaction();
    const auto providers = store_->owners().disown(uid, now);
    if (!providers) return std::unexpected(providers.error());
    for (const auto provider : *providers)
      if (auto dropped = keys_->drop(provider); !dropped) return dropped;
    if (auto kept = transaction.finish(); !kept) return kept;
  }
  log::write(log::Level::Warning,
             "uid " + std::to_string(uid) + " was " + was + "'s and is " + now +
                 "'s now: the projects and tasks of before are nobody's, and their keys are gone (coffer list "
                 "--all-users, coffer project list --all-users)",
             {{names::kFieldOwner, std::to_string(uid)}}, names::kMessageSystem);
  for (const auto& task : *tasks)
    if (auto ended = scheduler_->submit(task.id, model::Cancelled{}); !ended)
      log::warning("task " + std::to_string(task.id) + " of a former user: " + ended.error().message);
  if (auto applied = applyRules(); !applied) log::warning(applied.error().message);
  return {};
}

// A store of before this was remembered, and uids that changed hands while the daemon was away.
Async<Done> Engine::meetOwners() {
  const auto owners = store_->owners().all();
  if (!owners) co_return Done{};
  for (const auto uid : *owners) {
    const auto name = co_await currentName(*names_, uid);
    if (!name) {
      // The others would wait as long; each is compared again when somebody comes with it.
      log::warning("uid " + std::to_string(uid) + ": " + name.error().message);
      break;
    }
    const auto known = store_->owners().name(uid);
    if (!known || !*name) continue;
    std::expected<void, Error> done;
    if (!*known)
      done = store_->owners().remember(uid, **name);
    else if (**known != **name)
      done = disown(uid, **known, **name);
    if (!done) log::warning("uid " + std::to_string(uid) + ": " + done.error().message);
  }
  co_return Done{};
}

std::expected<void, Error> Engine::rememberOwner(uid_t uid) {
  const auto known = callers_.find(uid);
  return known == callers_.end() ? std::expected<void, Error>{} : store_->owners().remember(uid, known->second);
}

}  // namespace coffer::engine
