#include "agents/flow_file.hpp"

#include "agents/toml_reader.hpp"

namespace coffer::agents {

std::expected<model::Flow, std::string> readFlow(std::string_view text, std::string_view name, std::string_view file) {
  const auto document = parseToml(text, file);
  if (!document) return std::unexpected(document.error());
  TomlReader::Fault fault{std::string(file), {}};
  TomlReader reader(*document, "", fault);
  reader.text("title");

  model::Flow flow;
  flow.name = name;
  auto conversations = reader.table("conversations");
  const auto letter = [&](std::string_view role, std::string value) {
    if (!value.empty() && (value.size() != 1 || value.front() < 'A' || value.front() > 'Z'))
      conversations.fail(conversations.line(role),
                         "conversations." + std::string(role) + " must be one letter of A to Z");
    return value;
  };
  flow.planner = letter("planner", conversations.text("planner"));
  flow.writer = letter("writer", conversations.text("writer"));
  flow.reviewer = letter("reviewer", conversations.text("reviewer", ""));
  conversations.finish();

  auto review = reader.table("review");
  const auto by = review.word("by", {"none", "same", "fresh"});
  flow.freshReviewer = by == "fresh";
  flow.selfReview = review.boolean("self-review", false);
  const auto line = conversations.line("reviewer");
  if (by == "none" && !flow.reviewer.empty())
    conversations.fail(line, "conversations.reviewer is given, but review.by is none");
  if (by != "none" && flow.reviewer.empty()) conversations.fail(line, "conversations.reviewer is missing");
  // A judge that wrote the work is no judge; the flow for that is a self-review, and it is not recorded as a review.
  if (!flow.reviewer.empty() && flow.reviewer == flow.writer)
    conversations.fail(line, "the reviewer cannot be the writer's conversation; use self-review");
  if (flow.freshReviewer && flow.reviewer == flow.planner)
    conversations.fail(line, "a fresh reviewer needs a letter of its own");
  review.finish();
  reader.finish();
  if (fault) return std::unexpected(fault.text);
  return flow;
}

}  // namespace coffer::agents
