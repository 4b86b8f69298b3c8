// What concerns providers: whose they are, where they are, and their keys.

#include <algorithm>
#include <utility>

#include "dbus/names.hpp"
#include "engine/accounts.hpp"
#include "engine/agent_checks.hpp"
#include "engine/asked.hpp"
#include "engine/engine.hpp"
#include "engine/host_rules.hpp"
#include "model/limits.hpp"
#include "os/clock.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

// The same place with and without a slash at its end is one.
std::string withoutSlash(std::string url) {
  while (url.ends_with('/'))
    url.pop_back();
  return url;
}

// What the gateway would refuse at every turn is refused at once. `file` may be gone by now.
std::expected<void, Error> checkBaseUrl(const std::string& url, const agents::ProviderFile* file,
                                        const std::string& kind) {
  if (!portOf(url)) return invalid(url + " is no URL that begins with https:// or http://");
  if (mayCarryKey(url, file ? file->allowAddresses : std::vector<std::string>{})) return {};
  return invalid(url +
                 " has no TLS, so its key would go in the clear to whoever answers: use https://, or let an "
                 "administrator name its address in allow-addresses of /etc/cofferdam/providers/" +
                 kind + ".toml (cofferdam-agents(5)), then systemctl reload cofferd");
}

}  // namespace

// A provider is described by one of the machine's files: the one of that name, or one that serves the protocol and,
// when a place was named, is about that very place.
const agents::ProviderFile* Engine::providerFile(const std::string& kind, const std::string& baseUrl) const {
  const agents::ProviderFile* found = providers_.find(kind);
  for (const auto& [name, file] : providers_.all()) {
    const bool serves =
        std::ranges::any_of(file.kinds, [&](auto each) { return agents::providerKindName(each) == kind; });
    if (!serves) continue;
    if (!baseUrl.empty() && file.baseUrl == baseUrl) return &file;
    if (!found) found = &file;
  }
  return found;
}

std::expected<std::vector<std::string>, Error> Engine::baseUrls() const {
  const auto known = store_->providers().list(std::nullopt);
  if (!known) return std::unexpected(known.error());
  std::vector<std::string> urls;
  for (const auto& [name, file] : providers_.all())
    urls.push_back(file.baseUrl);
  for (const auto& provider : *known)
    urls.push_back(provider.baseUrl);
  return urls;
}

std::expected<void, Error> Engine::roomFor(const std::string& baseUrl) const {
  auto urls = baseUrls();
  if (!urls) return std::unexpected(urls.error());
  const auto before = gatewayPorts(*urls).size();
  urls->push_back(baseUrl);
  if (const auto after = gatewayPorts(*urls).size(); after == before || after <= limits::kHostEntries) return {};
  return std::unexpected(
      Error{ErrorCode::Limit, "the providers of this machine have " + std::to_string(before) +
                                  " ports, as many as its table of rules holds: take a port that another one has, as "
                                  "443, or remove providers that nobody needs"});
}

void Engine::addProvider(const api::Request& request, const std::string& name, const std::string& kind,
                         const std::string& baseUrl, bool machine, api::Done<std::uint64_t> done) {
  const auto operation = "AddProvider " + name;
  const auto kept = answered(request, operation);
  if (!kept) return done(std::unexpected(kept.error()));
  if (*kept) return done(Records::decimal(**kept));
  if (!goodName(name)) return done(invalid("a provider's name is [a-z0-9][a-z0-9-]*, at most 31 characters"));
  const auto* file = providerFile(kind, baseUrl);
  if (!file) {
    std::string known;
    for (const auto& each : providerKinds(providers_))
      known += (known.empty() ? "" : ", ") + each;
    return done(
        invalid("there is no kind of provider " + (kind.empty() ? "of that name" : kind) + "; there are " + known));
  }
  store::Provider provider;
  provider.owner = request.caller.uid;
  provider.machine = machine;
  provider.name = name;
  provider.kind = file->name;
  provider.baseUrl = withoutSlash(baseUrl.empty() ? file->baseUrl : baseUrl);
  if (auto good = checkBaseUrl(provider.baseUrl, file, file->name); !good) return done(std::unexpected(good.error()));
  const auto added = once(request, operation, [&]() -> std::expected<std::string, Error> {
    const auto others = store_->providers().list(provider.owner);
    if (!others) return std::unexpected(others.error());
    const auto count = std::ranges::count(*others, machine, &store::Provider::machine);
    if (static_cast<std::size_t>(count) >= limits::kProvidersOfUser)
      return std::unexpected(Error{ErrorCode::Limit, std::string(machine ? "the machine has " : "you have ") +
                                                         std::to_string(count) + " providers, as many as " +
                                                         (machine ? "it" : "one user") +
                                                         " may: coffer provider remove one that nobody needs"});
    if (auto room = roomFor(provider.baseUrl); !room) return std::unexpected(room.error());
    auto made = store_->providers().add(provider).transform([](auto number) { return std::to_string(number); });
    if (made && !machine)
      if (auto whose = rememberOwner(provider.owner); !whose) return std::unexpected(whose.error());
    return made;
  });
  if (!added) return done(std::unexpected(added.error()));
  const auto id = Records::decimal(added->text);
  if (auto applied = applyRules(); !applied) log::warning(applied.error().message);
  if (observer_) observer_->objectAdded(api::ObjectKind::Provider, id);
  done(id);
}

void Engine::setKey(const api::Request& request, std::uint64_t provider, std::string key,
                    api::Done<api::Nothing> done) {
  setKeyNow(request, provider, std::move(key), std::move(done));
}

Detached Engine::setKeyNow(api::Request request, std::uint64_t id, std::string key, api::Done<api::Nothing> done) {
  const auto hint = key.size() >= 12 ? key.substr(key.size() - 4) : std::string{};
  const auto operation = "SetKey " + std::to_string(id);
  const auto kept = answered(request, operation);
  if (!kept || *kept) {
    if (kept)
      done(api::Nothing{});
    else
      done(std::unexpected(kept.error()));
    co_return;
  }
  const auto before = store_->providers().get(id);
  if (!before) {
    done(std::unexpected(before.error()));
    co_return;
  }
  auto put = co_await keys_->put(id, before->baseUrl, std::move(key));
  if (!put) {
    done(std::unexpected(put.error()));
    co_return;
  }
  auto provider = store_->providers().get(id);
  if (!provider) {
    static_cast<void>(keys_->drop(id));
    done(std::unexpected(provider.error()));
    co_return;
  }
  // Who gave it named the place that was there then.
  if (provider->baseUrl != before->baseUrl) {
    static_cast<void>(keys_->drop(id));
    done(std::unexpected(
        Error{ErrorCode::Stale, "the URL of " + provider->name +
                                    " changed while its key was stored, so the key was dropped: look at "
                                    "the URL and set the key again"}));
    co_return;
  }
  const auto set = once(request, operation, [&] {
    return store_->providers().setKeyPresent(id, true, hint).transform([] { return std::string{}; });
  });
  if (!set) {
    done(std::unexpected(set.error()));
    co_return;
  }
  if (observer_) observer_->objectChanged(api::ObjectKind::Provider, id);
  done(api::Nothing{});
}

void Engine::setProvider(const api::Request& request, std::uint64_t id, const api::ProviderSettings& settings,
                         api::Done<api::Nothing> done) {
  const auto provider = store_->providers().get(id);
  if (!provider) return done(std::unexpected(provider.error()));
  auto baseUrl = provider->baseUrl;
  if (settings.baseUrl) baseUrl = withoutSlash(*settings.baseUrl);
  if (settings.baseUrl)
    if (auto good = checkBaseUrl(baseUrl, providers_.find(provider->kind), provider->kind); !good)
      return done(std::unexpected(good.error()));
  if (settings.spenders && !provider->machine)
    return done(
        invalid("the key of " + provider->name +
                " is a user's own, and only that user may spend it; one of the machine is made with coffer provider "
                "add --machine"));
  setProviderNow(request, id, settings, std::move(done));
}

Detached Engine::setProviderNow(api::Request request, std::uint64_t id, api::ProviderSettings settings,
                                api::Done<api::Nothing> done) {
  using Found = std::expected<std::pair<Accounts, AccountNames>, Error>;
  Found spenders;
  if (settings.spenders) {
    std::function<Found()> question = [named = *settings.spenders]() -> Found {
      auto accounts = accountsOf(named);
      if (!accounts) return std::unexpected(accounts.error());
      auto names = namesOf(*accounts);
      return std::pair{std::move(*accounts), std::move(names)};
    };
    auto answer = co_await names_->ask(std::move(question));
    spenders = answer ? std::move(*answer) : std::unexpected(answer.error());
  }
  if (!spenders) {
    done(std::unexpected(spenders.error()));
    co_return;
  }
  const auto& [accounts, known] = *spenders;
  const auto provider = store_->providers().get(id);
  if (!provider) {
    done(std::unexpected(provider.error()));
    co_return;
  }
  const auto baseUrl = settings.baseUrl ? withoutSlash(*settings.baseUrl) : provider->baseUrl;
  const auto set = once(request, "Provider.Set " + std::to_string(id), [&]() -> std::expected<std::string, Error> {
    if (settings.spenders) {
      if (auto kept = store_->providers().setSpenders(id, accounts.users, accounts.groups); !kept)
        return std::unexpected(kept.error());
      for (const auto& [uid, name] : known.users)
        if (auto kept = store_->owners().remember(uid, name); !kept) return std::unexpected(kept.error());
    }
    if (baseUrl != provider->baseUrl) {
      // A key is stored with the one place it may be sent to. It goes before the place changes: a crash between the two
      // leaves a provider without a key, never a key with another place.
      if (auto room = roomFor(baseUrl); !room) return std::unexpected(room.error());
      if (auto dropped = keys_->drop(id); !dropped) return std::unexpected(dropped.error());
      if (auto moved = store_->providers().setBaseUrl(id, baseUrl); !moved) return std::unexpected(moved.error());
    }
    return std::string{};
  });
  if (!set) {
    done(std::unexpected(set.error()));
    co_return;
  }
  if (set->again) {
    done(api::Nothing{});
    co_return;
  }
  if (settings.spenders) {
    accountNames_.users.insert(known.users.begin(), known.users.end());
    accountNames_.groups.insert(known.groups.begin(), known.groups.end());
    std::string list;
    for (const auto& name : *settings.spenders)
      list += (list.empty() ? "" : ", ") + name;
    log::info("the key of the provider " + provider->name + " may be spent by: " + (list.empty() ? "nobody" : list),
              {{names::kFieldCaller, std::to_string(request.caller.uid)}});
  }
  if (auto applied = applyRules(); !applied) log::warning(applied.error().message);
  if (observer_) observer_->objectChanged(api::ObjectKind::Provider, id);
  done(api::Nothing{});
}

void Engine::removeProvider(const api::Request& request, std::uint64_t id, api::Done<api::Nothing> done) {
  const auto provider = store_->providers().former(id);
  if (!provider) return done(std::unexpected(provider.error()));
  const auto removed =
      once(request, "Provider.Remove " + std::to_string(id), [&]() -> std::expected<std::string, Error> {
        if (auto gone = store_->providers().remove(id); !gone) return std::unexpected(gone.error());
        if (auto dropped = keys_->drop(id); !dropped) return std::unexpected(dropped.error());
        return std::string{};
      });
  if (!removed) return done(std::unexpected(removed.error()));
  if (removed->again) return done(api::Nothing{});
  if (auto applied = applyRules(); !applied) log::warning(applied.error().message);
  if (observer_) observer_->objectRemoved(api::ObjectKind::Provider, id, {provider->owner, provider->machine});
  done(api::Nothing{});
}

}  // namespace coffer::engine
