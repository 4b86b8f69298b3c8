#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "workers/record.hpp"

namespace coffer::agents {

/// What an agent's usage numbers mean.
enum class UsageMode {
  PerTurn,     ///< the last numbers seen are this turn's
  Cumulative,  ///< the last numbers seen are the whole conversation's, earlier turns included
  Summed,      ///< each line has a part; this turn's are their sum
};

enum class OutputFormat {
  JsonLines,  ///< one JSON object a line; other lines are skipped and counted
  Text,       ///< all of it is the answer
};

/// Why an agent's turn went wrong, as far as the next step depends on it.
enum class ErrorClass { RateLimit, Auth, Overloaded, Context, Other };

/// A JSON pointer and the value that must stand there: a string, true, false, null or a number, as JSON would write it
/// without quotes.
struct LineCondition {
  std::string pointer;
  std::string value;
};

/// What to take from one kind of line. Every pointer is a JSON pointer, empty means "nothing to take".
struct LineRule {
  std::vector<LineCondition> when;     ///< all hold on the line
  std::string each;                    ///< an array on the line: the pointers below start at each of its members
  std::vector<LineCondition> element;  ///< all hold on that member

  std::string session;        ///< what resumes the conversation; the last one counts
  std::string text;           ///< the answer; the last one counts
  std::string message;        ///< something said, for the transcript
  std::string command;        ///< something done, for the transcript
  std::string commandOutput;  ///< what came of it
  std::string commandExit;
  std::string error;   ///< the sentence of an error; the last one counts
  std::string status;  ///< the provider's HTTP status
  std::string input;   ///< tokens
  std::string cached;
  std::string cacheWrite;
  std::string output;
  bool success = false;  ///< such a line means the agent ended its turn as it should
};

/// Words in an error's sentence that tell its class.
struct ErrorRule {
  std::string contains;
  ErrorClass errorClass = ErrorClass::Other;
};

/// How an agent's standard output is read. Written by people in a descriptor, checked there, and handed to the
/// collector as records: cofferd itself never reads an agent's output.
struct Protocol {
  std::string name;
  OutputFormat format = OutputFormat::JsonLines;
  UsageMode usage = UsageMode::PerTurn;
  bool inputIncludesCached = false;  ///< input tokens count the cached ones too
  std::vector<LineRule> lines;
  std::vector<ErrorRule> errors;

  /// Adds `protocol.*` records to a collector's request.
  void toRecords(Records& request) const;
  /// The counterpart, in the collector. The error is a sentence.
  static std::expected<Protocol, std::string> fromRecords(const Records& request);
};

std::string_view errorClassName(ErrorClass errorClass);

}  // namespace coffer::agents
