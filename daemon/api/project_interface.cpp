#include "api/project_interface.hpp"

#include "api/project_settings.hpp"
#include "dbus/names.hpp"

namespace coffer::api {

ProjectSettings takeProjectSettings(Options& options) {
  ProjectSettings settings;
  settings.authorName = takeText(options, "author-name");
  settings.authorEmail = takeText(options, "author-email");
  settings.build = takeList(options, "build");
  settings.test = takeList(options, "test");
  settings.budget = options.take<std::uint64_t>("budget");
  settings.rounds = options.take<std::uint32_t>("rounds");
  settings.policy = takeMap(options, "policy");
  settings.agents = takeMap(options, "agents");
  return settings;
}

ProjectInterface::ProjectInterface(Backend& backend)
    : ViewInterface(names::kProject, Object::Kind::Project), backend_(backend) {
  property("Id", &ProjectView::id);
  property("Name", &ProjectView::name);
  property("Owner", &ProjectView::owner);
  property("Directory", [](const ProjectView& view) { return Bytes(view.directory.begin(), view.directory.end()); });
  property("DirectoryText", [](const ProjectView& view) { return toPrintable(view.directory); });
  property("AuthorName", &ProjectView::authorName);
  property("AuthorEmail", &ProjectView::authorEmail);
  property("Base", &ProjectView::base);
  property("Build", &ProjectView::build);
  property("Test", &ProjectView::test);
  property("Budget", &ProjectView::budget);
  property("Rounds", &ProjectView::rounds);
  property("Policy", &ProjectView::policy);
  property("Agents", &ProjectView::agents);
  property("Networks", &ProjectView::networks);

  methods_.push_back({"Set", "a{sv}", "", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          const auto settings = takeProjectSettings(options);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.setProject(request, call->object().id, settings, answering(call));
                        });
                      }});
  methods_.push_back({"Remove",
                      "a{sv}",
                      "",
                      [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.removeProject(request, call->object().id, answering(call));
                        });
                      },
                      {},
                      true});
}

std::expected<ProjectView, Error> ProjectInterface::read(const Caller&, const Object& object) const {
  return backend_.project(object.id);
}

}  // namespace coffer::api
