#include "api/manager_interface.hpp"

#include <format>

#include "api/arguments.hpp"
#include "api/project_settings.hpp"
#include "api/rows.hpp"
#include "api/utf8.hpp"
#include "api/version.hpp"
#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::api {
namespace {

/// Whether a dictionary that is the last argument, or the only one, has this key as true.
template <class... Before>
bool flag(const Call& call, const char* key) {
  const auto arguments = call.arguments<Before..., Dictionary>();
  if (!arguments) return false;
  const auto& options = std::get<sizeof...(Before)>(*arguments);
  const auto found = options.find(key);
  const auto* value = found == options.end() ? nullptr : std::get_if<bool>(&found->second);
  return value != nullptr && *value;
}

bool filterOfAllUsers(const Call& call) {
  const auto arguments = call.arguments<Dictionary, std::uint64_t, std::uint32_t>();
  if (!arguments) return false;
  const auto& filter = std::get<0>(*arguments);
  const auto found = filter.find("all-users");
  const auto* value = found == filter.end() ? nullptr : std::get_if<bool>(&found->second);
  return value != nullptr && *value;
}

std::expected<std::uint32_t, Error> limitOf(std::uint32_t asked) {
  if (asked > limits::kListMost)
    return std::unexpected(Error{ErrorCode::InvalidArgument, std::format("at most {} at a time", limits::kListMost)});
  return asked == 0 ? limits::kListDefault : asked;
}

Dictionary limitsDictionary() {
  return {{"text-bytes", std::uint64_t{limits::kTextBytes}},
          {"diff-bytes", std::uint64_t{limits::kDiffBytes}},
          {"log-shown-bytes", std::uint64_t{limits::kLogShownBytes}},
          {"key-bytes", std::uint64_t{limits::kKeyBytes}},
          {"list-entries", std::uint64_t{limits::kListMost}},
          {"piece-bytes", std::uint64_t{limits::kPieceMost}},
          {"subscribers-per-user", std::uint64_t{limits::kSubscribersPerUser}},
          {"waits-per-user", std::uint64_t{limits::kWaitsPerUser}},
          {"wait-time", std::uint64_t{limits::kWaitTime}}};
}

/// As much of a name as helps to see what was mistyped.
constexpr std::size_t kNameShown = 64;

Error unknownTask(std::uint64_t id) {
  return {ErrorCode::UnknownObject, std::format("there is no task {} that you may see: coffer list --all", id)};
}

/// `name`: what the caller called it, which may be anything.
Error unknownProject(std::string_view name) {
  return {ErrorCode::UnknownObject, std::format("there is no project {} that you may see: coffer project list",
                                                toPrintable(name.substr(0, kNameShown)))};
}

/// Everything of ours runs with some user's rights; root has too many.
constexpr auto kNotRoot = "root owns no projects and tasks; do this as the user whose repository it is";

}  // namespace

ManagerInterface::ManagerInterface(Backend& backend, Subscriptions& subscriptions)
    : ViewInterface(names::kManager, Object::Kind::Root), backend_(backend), subscriptions_(subscriptions) {
  property("Version", [](const ManagerView&) { return std::string(kVersion); });
  property("ApiVersion", [](const ManagerView&) { return std::uint32_t{names::kApiVersion}; });
  property("Backends", &ManagerView::backends);
  property("Features", &ManagerView::features);
  property("Waiting", &ManagerView::waiting);
  property("Running", &ManagerView::running);
  property("Limits", [](const ManagerView&) { return limitsDictionary(); });
  property("ConfigurationProblems", &ManagerView::configurationProblems);
  addMethods();
}

void ManagerInterface::addMethods() {
  methods_.push_back({"AddProject", "aysa{sv}", "o", [this](const CallPointer& call) { addProject(call); }});
  methods_.push_back({"CreateTask", "osa{sv}", "ot", [this](const CallPointer& call) { createTask(call); }});
  methods_.push_back({"GetTask", "t", "o", [this](const CallPointer& call) {
                        withArguments<std::uint64_t>(call, [&](std::uint64_t id) {
                          if (!maySee(call->caller, ObjectKind::Task, id)) return call->fail(unknownTask(id));
                          call->answer(pathOf(ObjectKind::Task, id));
                        });
                      }});
  methods_.push_back({"GetProject", "s", "o", [this](const CallPointer& call) {
                        withArguments<std::string>(call, [&](const std::string& name) {
                          const auto id = backend_.projectByName(call->caller.uid, name);
                          if (!id) return call->fail(unknownProject(name));
                          call->answer(pathOf(ObjectKind::Project, *id));
                        });
                      }});
  methods_.push_back(
      {"ListTasks", "a{sv}tu", "aa{sv}t", [this](const CallPointer& call) { listTasks(call); }, filterOfAllUsers});
  methods_.push_back({"ListEvents", "tua{sv}", "a(tttsa{sv})t", [this](const CallPointer& call) { listEvents(call); },
                      [](const Call& call) { return flag<std::uint64_t, std::uint32_t>(call, "all-users"); }});
  methods_.push_back({"AddProvider", "ssa{sv}", "o", [this](const CallPointer& call) { addProvider(call); },
                      [](const Call& call) { return flag<std::string, std::string>(call, "machine"); }});
  methods_.push_back({"Subscribe", "a{sv}", "", [this](const CallPointer& call) { subscribe(call); },
                      [](const Call& call) { return flag<>(call, "all-users"); }});
  methods_.push_back({"Unsubscribe", "", "", [this](const CallPointer& call) { subscriptions_.unsubscribe(*call); }});
  methods_.push_back({"CheckSystem", "a{sv}", "aa{sv}", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          const Options options(std::move(values));
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.checkSystem(call->caller, answering<std::vector<CheckView>>(
                                                                 call, [](Writer& writer, const auto& checks) {
                                                                   writer.inside('a', "a{sv}", [&] {
                                                                     for (const auto& check : checks)
                                                                       writeCheckRow(writer, check);
                                                                   });
                                                                 }));
                        });
                      }});
  methods_.push_back({"Reload", "a{sv}", "", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.reload(request, answering(call));
                        });
                      }});
}

std::expected<ManagerView, Error> ManagerInterface::read(const Caller& caller, const Object&) const {
  return backend_.manager(caller);
}

bool ManagerInterface::maySee(const Caller& caller, ObjectKind kind, std::uint64_t id) const {
  const auto owner = backend_.owner(kind, id);
  return owner && (owner->uid == caller.uid || caller.administrator);
}

void ManagerInterface::addProject(const CallPointer& call) {
  withArguments<Bytes, std::string, Dictionary>(
      call, [&](const Bytes& bytes, const std::string& name, Dictionary values) {
        Options options(std::move(values));
        const auto request = requestOf(*call, options);
        const auto settings = takeProjectSettings(options);
        std::string directory(bytes.begin(), bytes.end());
        if (directory.ends_with('\0')) directory.pop_back();
        if (directory.size() > limits::kCallerPathBytes)
          options.refuse(ErrorCode::TooLarge,
                         std::format("the path has {} bytes, and {} are the most that the kernel takes; name the "
                                     "directory by a shorter one",
                                     directory.size(), limits::kCallerPathBytes));
        if (!directory.starts_with('/') || directory.contains('\0'))
          options.refuse(ErrorCode::InvalidArgument, "the directory is named by its whole path, beginning with /");
        if (const auto good = checkName(name); !good) options.refuse(good.error().code, good.error().message);
        if (call->caller.uid == 0) options.refuse(ErrorCode::AccessDenied, kNotRoot);
        if (const auto good = options.finish(); !good) return call->fail(good.error());
        backend_.addProject(request, directory, name, settings,
                            answering<std::uint64_t>(call, [](Writer& writer, std::uint64_t id) {
                              writer.append(pathOf(ObjectKind::Project, id));
                            }));
      });
}

void ManagerInterface::createTask(const CallPointer& call) {
  withArguments<ObjectPath, std::string, Dictionary>(call, [&](const ObjectPath& path, const std::string& prompt,
                                                               Dictionary values) {
    Options options(std::move(values));
    const auto request = requestOf(*call, options);
    TaskSettings settings;
    settings.flow = takeText(options, "flow").value_or("");
    settings.agents = takeMap(options, "agents");
    settings.policy = takeMap(options, "policy");
    settings.plan = options.take<std::string>("plan");
    settings.rounds = options.take<std::uint32_t>("rounds");
    settings.budget = options.take<std::uint64_t>("budget");
    settings.landingStyle = takeText(options, "landing-style").value_or(settings.landingStyle);
    if (settings.landingStyle != "squash" && settings.landingStyle != "merge")
      options.refuse(ErrorCode::InvalidArgument, "landing-style is squash or merge");
    if (const auto good = checkText("the prompt", prompt); !good)
      options.refuse(good.error().code, good.error().message);
    if (prompt.find_first_not_of(" \t\r\n") == std::string::npos)
      options.refuse(ErrorCode::InvalidArgument, "the prompt is empty; say what is wanted");
    if (settings.plan)
      if (const auto good = checkText("the plan", *settings.plan); !good)
        options.refuse(good.error().code, good.error().message);
    if (call->caller.uid == 0) options.refuse(ErrorCode::AccessDenied, kNotRoot);
    if (const auto good = options.finish(); !good) return call->fail(good.error());
    const auto project = objectAt(path.text);
    if (!project || project->kind != Object::Kind::Project || !maySee(call->caller, ObjectKind::Project, project->id))
      return call->fail(unknownProject(path.text));
    backend_.createTask(request, project->id, prompt, settings,
                        answering<std::uint64_t>(call, [](Writer& writer, std::uint64_t id) {
                          writer.append(pathOf(ObjectKind::Task, id));
                          writer.append(id);
                        }));
  });
}

void ManagerInterface::listTasks(const CallPointer& call) {
  withArguments<Dictionary, std::uint64_t, std::uint32_t>(call, [&](Dictionary values, std::uint64_t cursor,
                                                                    std::uint32_t asked) {
    Options options(std::move(values));
    TaskFilter filter;
    if (const auto path = options.take<ObjectPath>("project")) {
      const auto project = objectAt(path->text);
      if (!project || project->kind != Object::Kind::Project || !maySee(call->caller, ObjectKind::Project, project->id))
        return call->fail(unknownProject(path->text));
      filter.project = project->id;
    }
    filter.states = takeList(options, "state").value_or(Strings{});
    filter.waiting = options.take<bool>("waiting");
    filter.ended = options.take<bool>("ended");
    filter.deleted = options.take<bool>("deleted").value_or(false);
    filter.allUsers = options.take<bool>("all-users").value_or(false);
    if (const auto good = options.finish(); !good) return call->fail(good.error());
    const auto limit = limitOf(asked);
    if (!limit) return call->fail(limit.error());
    const auto page = backend_.listTasks(call->caller, filter, cursor, *limit);
    if (!page) return call->fail(page.error());
    call->answerWith([&](Writer& writer) {
      writer.inside('a', "a{sv}", [&] {
        for (const auto& task : page->tasks)
          writeTaskRow(writer, task);
      });
      writer.append(page->next);
    });
  });
}

void ManagerInterface::listEvents(const CallPointer& call) {
  withArguments<std::uint64_t, std::uint32_t, Dictionary>(
      call, [&](std::uint64_t after, std::uint32_t asked, Dictionary values) {
        Options options(std::move(values));
        EventFilter filter;
        filter.task = options.take<std::uint64_t>("task");
        filter.allUsers = options.take<bool>("all-users").value_or(false);
        if (const auto good = options.finish(); !good) return call->fail(good.error());
        if (filter.task && !maySee(call->caller, ObjectKind::Task, *filter.task))
          return call->fail(unknownTask(*filter.task));
        const auto limit = limitOf(asked);
        if (!limit) return call->fail(limit.error());
        const auto events = backend_.listEvents(call->caller, filter, after, *limit);
        if (!events) return call->fail(events.error());
        call->answerWith([&](Writer& writer) {
          writer.inside('a', "(tttsa{sv})", [&] {
            for (const auto& event : *events)
              writer.append(std::tuple(event.sequence, event.task, event.time, event.type, event.fields));
          });
          writer.append(events->empty() ? after : events->back().sequence);
        });
      });
}

void ManagerInterface::addProvider(const CallPointer& call) {
  withArguments<std::string, std::string, Dictionary>(
      call, [&](const std::string& name, const std::string& kind, Dictionary values) {
        Options options(std::move(values));
        const auto request = requestOf(*call, options);
        const auto baseUrl = takeText(options, "base-url").value_or("");
        const bool machine = options.take<bool>("machine").value_or(false);
        if (const auto good = checkName(name); !good) options.refuse(good.error().code, good.error().message);
        if (const auto good = options.finish(); !good) return call->fail(good.error());
        // What can be no name of a kind is refused like a kind that there is not: with those there are.
        backend_.addProvider(request, name, checkName(kind) ? kind : "", baseUrl, machine,
                             answering<std::uint64_t>(call, [](Writer& writer, std::uint64_t id) {
                               writer.append(pathOf(ObjectKind::Provider, id));
                             }));
      });
}

void ManagerInterface::subscribe(const CallPointer& call) {
  withArguments<Dictionary>(call, [&](Dictionary values) {
    Options options(std::move(values));
    const auto task = options.take<std::uint64_t>("task");
    const bool allUsers = options.take<bool>("all-users").value_or(false);
    if (const auto good = options.finish(); !good) return call->fail(good.error());
    if (task && !maySee(call->caller, ObjectKind::Task, *task)) return call->fail(unknownTask(*task));
    subscriptions_.subscribe(*call, task, allUsers);
  });
}

}  // namespace coffer::api
