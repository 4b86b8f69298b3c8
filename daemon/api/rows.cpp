#include "api/rows.hpp"

#include "api/object.hpp"

namespace coffer::api {

void writeTaskRow(Writer& writer, const TaskView& task) {
  writer.inside('a', "{sv}", [&] {
    writer.entry("Path", pathOf(ObjectKind::Task, task.id));
    writer.entry("Id", task.id);
    writer.entry("Project", pathOf(ObjectKind::Project, task.project));
    writer.entry("ProjectName", task.projectName);
    writer.entry("Owner", task.owner);
    writer.entry("Title", task.title);
    writer.entry("State", task.state);
    writer.entry("Parked", task.parked);
    writer.entry("Waiting", task.waiting);
    writer.entry("Flow", task.flow);
    writer.entry("Round", task.round);
    writer.entry("Rounds", task.rounds);
    writer.entry("Created", task.created);
    writer.entry("Changed", task.changed);
    writer.entry("Sequence", task.sequence);
    writer.entry("Actions", task.actions);
    if (task.deleted) writer.entry("Deleted", true);
  });
}

void writeRunRow(Writer& writer, const RunView& run) {
  writer.inside('a', "{sv}", [&] {
    writer.entry("Id", run.id);
    writer.entry("Kind", run.kind);
    writer.entry("Role", run.role);
    writer.entry("Agent", run.agent);
    writer.entry("Model", run.model);
    writer.entry("Round", run.round);
    writer.entry("Attempt", run.attempt);
    writer.entry("Unit", run.unit);
    writer.entry("Conversation", run.conversation);
    writer.entry("Started", run.started);
    writer.entry("Ended", run.ended);
    writer.entry("Result", run.result);
    writer.entry("Code", run.code);
    writer.entry("Text", run.text);
    writer.entry("Usage", run.usage);
  });
}

void writeFindingRow(Writer& writer, const FindingView& finding) {
  writer.inside('a', "{sv}", [&] {
    writer.entry("Id", finding.id);
    writer.entry("Round", finding.round);
    writer.entry("Source", finding.source);
    writer.entry("Severity", finding.severity);
    writer.entry("Blocking", finding.blocking);
    writer.entry("Path", finding.path);
    writer.entry("Line", finding.line);
    writer.entry("Title", finding.title);
    writer.entry("Text", finding.text);
  });
}

void writeAgentTest(Writer& writer, const AgentTestView& test) {
  writer.inside('a', "{sv}", [&] {
    writer.entry("Answered", test.answered);
    writer.entry("Answer", test.answer);
    writer.entry("Session", test.session);
    writer.entry("Resumed", test.resumed);
    writer.entry("ResumedAnswer", test.resumedAnswer);
    writer.entry("Outcome", test.outcome);
    writer.entry("Problem", test.problem);
    writer.entry(
        "Usage",
        std::map<std::string, std::uint64_t>{
            {"input", test.input}, {"cached", test.cached}, {"output", test.output}, {"requests", test.requests}});
  });
}

void writeCheckRow(Writer& writer, const CheckView& check) {
  writer.inside('a', "{sv}", [&] {
    writer.entry("name", check.name);
    writer.entry("state", check.state);
    writer.entry("text", check.text);
    writer.entry("problem", check.problem);
    writer.entry("remedy", check.remedy);
  });
}

}  // namespace coffer::api
