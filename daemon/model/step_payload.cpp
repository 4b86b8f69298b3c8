#include "model/step_payload.hpp"

#include <string_view>

#include "model/spelling.hpp"

namespace coffer::model {

namespace {
constexpr std::string_view kInput = "input.";
}

Payload toPayload(const Step& step) {
  Payload payload{{"kind", std::string(spell(step.kind))},
                  {"step", step.name},
                  {"lap", static_cast<std::int64_t>(step.lap)},
                  {"attempt", static_cast<std::int64_t>(step.attempt)},
                  {"round", static_cast<std::int64_t>(step.round)}};
  if (step.kind == StepKind::Turn) {
    payload["role"] = std::string(spell(step.role));
    payload["turn"] = std::string(spell(step.turn));
    payload["conversation"] = step.conversation;
  }
  if (!step.base.empty()) payload["base"] = step.base;
  if (!step.candidate.empty()) payload["candidate"] = step.candidate;
  if (!step.branch.empty()) payload["branch"] = step.branch;
  for (const auto& [name, digest] : step.inputs)
    payload[std::string(kInput) + name] = digest;
  return payload;
}

Step stepOf(const Event& event) {
  Step step;
  step.kind = parse<StepKind>(event.text("kind")).value_or(step.kind);
  step.name = event.text("step");
  step.lap = static_cast<std::uint64_t>(event.number("lap"));
  step.attempt = static_cast<std::uint64_t>(event.number("attempt"));
  step.round = static_cast<std::uint64_t>(event.number("round"));
  step.role = parse<Role>(event.text("role")).value_or(step.role);
  step.turn = parse<TurnKind>(event.text("turn")).value_or(step.turn);
  step.conversation = event.text("conversation");
  step.base = event.text("base");
  step.candidate = event.text("candidate");
  step.branch = event.text("branch");
  for (auto at = event.payload.lower_bound(std::string(kInput));
       at != event.payload.end() && at->first.starts_with(kInput); ++at)
    step.inputs[at->first.substr(kInput.size())] = event.text(at->first);
  return step;
}

}  // namespace coffer::model
