#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/turn.hpp"

namespace coffer::agents {

/// What one turn is told. Every text is somebody else's words: it is copied, never read.
struct TurnBrief {
  std::uint64_t task = 0;
  std::string title;
  model::Role role = model::Role::Writer;
  model::TurnKind kind = model::TurnKind::Write;
  std::uint64_t round = 0;
  bool newConversation = false;       ///< the agent has no memory of this task: it is told the rules too
  std::string base;                   ///< commit the work is compared with
  std::string branch;                 ///< checked out in /src
  std::uint64_t deadline = 0;         ///< microseconds CLOCK_REALTIME
  std::vector<std::string> commands;  ///< the gate's, one line each

  std::string request;   ///< what the person asked for
  std::string plan;      ///< the accepted plan, or the draft that is to be mended
  std::string problem;   ///< why a draft or a review could not be used
  std::string feedback;  ///< what the gate says
  std::string review;    ///< the findings, as review.json
  std::string comments;  ///< the person's replies, and the writer's answers to findings, newest last
};

/// What somebody said in a task: the person, or the writer in answer.
struct Comment {
  bool writers = false;
  std::string text;
};

/// comments.md of these, oldest first: a section for each, the newest last. The oldest are left out beyond
/// kCommentsBytes, which the text then says.
std::string commentsText(const std::vector<Comment>& comments);

/// /task/in/turn.toml: the same facts for programs.
std::string turnToml(const TurnBrief& brief);

/// The texts of /task/in as files (name, content): turn.toml, plan.md, comments.md, feedback.md, review.json. What is
/// empty has no file. request.md is the prompt.
std::vector<std::pair<std::string, std::string>> turnFiles(const TurnBrief& brief);

}  // namespace coffer::agents
