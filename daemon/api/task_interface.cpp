#include "api/task_interface.hpp"

#include <algorithm>
#include <array>
#include <format>

#include "api/arguments.hpp"
#include "api/content.hpp"
#include "api/descriptors.hpp"
#include "api/rows.hpp"
#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::api {
namespace {

constexpr auto kTexts = std::to_array<std::string_view>(
    {"prompt", "plan", "question", "answer", "left-out", "diff", "gate", "review", "transcript", "log"});

}  // namespace

TaskInterface::TaskInterface(Backend& backend, Waits& waits)
    : ViewInterface(names::kTask, Object::Kind::Task), backend_(backend), waits_(waits) {
  addProperties();
  addMethods();
}

void TaskInterface::addProperties() {
  property("Id", &TaskView::id);
  property("Project", [](const TaskView& view) { return pathOf(ObjectKind::Project, view.project); });
  property("ProjectName", &TaskView::projectName);
  property("Owner", &TaskView::owner);
  property("Title", &TaskView::title);
  property("State", &TaskView::state);
  property("Parked", &TaskView::parked);
  property("Waiting", &TaskView::waiting);
  property("Flow", &TaskView::flow);
  property("Agents", &TaskView::agents);
  property("Policy", &TaskView::policy);
  property("Round", &TaskView::round);
  property("Rounds", &TaskView::rounds);
  property("LandingStyle", &TaskView::landingStyle);
  property("Base", &TaskView::base);
  property("BaseBranch", &TaskView::baseBranch);
  property("Candidate", &TaskView::candidate);
  property("PlanDigest", &TaskView::planDigest);
  property("WorkDigest", &TaskView::workDigest);
  property("Pending", &TaskView::pending);
  property("Question", &TaskView::question);
  property("Actions", &TaskView::actions);
  property("Problem", &TaskView::problem);
  property("Usage", &TaskView::usage);
  property("Budget", &TaskView::budget);
  property("CostMicro", &TaskView::costMicro);
  property("Refusals", &TaskView::refusals);
  property("Slice", &TaskView::slice);
  property("Created", &TaskView::created);
  property("Changed", &TaskView::changed);
  property("Sequence", &TaskView::sequence);
  property("Landed", &TaskView::landed);
}

void TaskInterface::addMethods() {
  methods_.push_back({"AcceptPlan", "sa{sv}", "", [this](const CallPointer& call) {
                        withArguments<std::string, Dictionary>(call, [&](const std::string& digest, Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.acceptPlan(request, call->object().id, digest, answering(call));
                        });
                      }});
  methods_.push_back(
      {"AcceptWork", "sa{sv}", "s", [this](const CallPointer& call) {
         withArguments<std::string, Dictionary>(call, [&](const std::string& digest, Dictionary values) {
           Options options(std::move(values));
           const auto request = requestOf(*call, options);
           const auto branch = takeText(options, "branch").value_or("");
           if (const auto good = options.finish(); !good) return call->fail(good.error());
           backend_.acceptWork(
               request, call->object().id, digest, branch,
               answering<std::string>(call, [](Writer& writer, const std::string& commit) { writer.append(commit); }));
         });
       }});
  methods_.push_back({"Reply", "sa{sv}", "", [this](const CallPointer& call) {
                        withArguments<std::string, Dictionary>(call, [&](const std::string& text, Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          if (const auto good = checkText("the reply", text); !good)
                            options.refuse(good.error().code, good.error().message);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.reply(request, call->object().id, text, answering(call));
                        });
                      }});
  methods_.push_back({"Retry", "a{sv}", "", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          const RetrySettings settings{.from = takeText(options, "from").value_or(""),
                                                       .budget = options.take<std::uint64_t>("budget")};
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.retryTask(request, call->object().id, settings, answering(call));
                        });
                      }});
  const auto plain = [this](const char* name, auto act, bool takesAway) {
    methods_.push_back({name,
                        "a{sv}",
                        "",
                        [this, act](const CallPointer& call) {
                          withArguments<Dictionary>(call, [&](Dictionary values) {
                            Options options(std::move(values));
                            const auto request = requestOf(*call, options);
                            if (const auto good = options.finish(); !good) return call->fail(good.error());
                            std::invoke(act, backend_, request, call->object().id, answering(call));
                          });
                        },
                        {},
                        takesAway});
  };
  plain("Cancel", &Backend::cancelTask, false);
  plain("Delete", &Backend::deleteTask, true);
  methods_.push_back({"ReadText", "stua{sv}", "sts", [this](const CallPointer& call) { readText(call); }});
  methods_.push_back({"Open", "sa{sv}", "hs", [this](const CallPointer& call) { open(call); }});

  const auto list = [this](const char* name, auto read, auto write) {
    methods_.push_back({name, "a{sv}", "aa{sv}", [this, read, write](const CallPointer& call) {
                          withArguments<Dictionary>(call, [&](Dictionary values) {
                            const Options options(std::move(values));
                            if (const auto good = options.finish(); !good) return call->fail(good.error());
                            const auto rows = std::invoke(read, backend_, call->object().id);
                            if (!rows) return call->fail(rows.error());
                            call->answerWith([&](Writer& writer) {
                              writer.inside('a', "a{sv}", [&] {
                                for (const auto& row : *rows)
                                  write(writer, row);
                              });
                            });
                          });
                        }});
  };
  list("ListRuns", &Backend::listRuns, &writeRunRow);
  list("ListFindings", &Backend::listFindings, &writeFindingRow);
  methods_.push_back({"Wait", "tt", "tss", [this](const CallPointer& call) {
                        withArguments<std::uint64_t, std::uint64_t>(
                            call,
                            [&](std::uint64_t after, std::uint64_t timeout) { waits_.wait(call, after, timeout); });
                      }});
}

std::expected<TaskView, Error> TaskInterface::read(const Caller&, const Object& object) const {
  return backend_.task(object.id);
}

std::expected<Content, Error> TaskInterface::content(const Call& call, const std::string& what,
                                                     Dictionary values) const {
  Options options(std::move(values));
  const auto run = options.take<std::uint64_t>("run");
  if (std::ranges::find(kTexts, what) == kTexts.end())
    options.refuse(ErrorCode::InvalidArgument,
                   "there is prompt, plan, question, answer, left-out, diff, gate, review, transcript and log to read");
  if (const auto good = options.finish(); !good) return std::unexpected(good.error());
  return backend_.text(call.object().id, what, run);
}

void TaskInterface::readText(const CallPointer& call) {
  withArguments<std::string, std::uint64_t, std::uint32_t, Dictionary>(
      call, [&](const std::string& what, std::uint64_t offset, std::uint32_t asked, Dictionary values) {
        const auto limit = asked == 0 ? limits::kPieceDefault : asked;
        if (limit < limits::kPieceLeast || limit > limits::kPieceMost)
          return call->fail({ErrorCode::InvalidArgument,
                             std::format("a piece has {} to {} bytes", limits::kPieceLeast, limits::kPieceMost)});
        const auto text = content(*call, what, std::move(values));
        if (!text) return call->fail(text.error());
        // Some bytes more than asked for, to see whether the last character is whole.
        const auto piece = pieceOf(*text, offset, std::size_t{limit} + limits::kPieceLeast);
        if (!piece) return call->fail(piece.error());
        const auto size = wholeCharacters(piece->bytes, limit);
        const auto end = offset + size;
        call->answer(std::string_view(piece->bytes).substr(0, size), end < piece->total ? end : std::uint64_t{0},
                     text->digest);
      });
}

void TaskInterface::open(const CallPointer& call) {
  withArguments<std::string, Dictionary>(call, [&](const std::string& what, Dictionary values) {
    const auto text = content(*call, what, std::move(values));
    if (!text) return call->fail(text.error());
    const auto whole = wholeOf(*text);
    if (!whole) return call->fail(whole.error());
    const auto fd = sealed(*whole);
    if (!fd) return call->fail(fd.error());
    call->answerWith([&](Writer& writer) {
      writer.descriptor(fd->get());
      writer.append(text->digest);
    });
  });
}

}  // namespace coffer::api
