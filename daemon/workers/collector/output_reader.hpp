#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol.hpp"
#include "workers/collector/json_document.hpp"
#include "workers/collector/transcript.hpp"
#include "workers/collector/usage.hpp"

namespace coffer::collector {

/// What an agent's standard output says, read by the rules of its descriptor.
struct AgentOutput {
  std::string session;
  std::string text;   ///< the answer, at most limits::kTextBytes
  std::string error;  ///< the last error's sentence, at most limits::kWordsBytes
  std::uint64_t status = 0;
  bool success = false;
  std::optional<TokenCounts> usage;  ///< nothing when it told none
  std::uint64_t lines = 0;
  std::uint64_t garbage = 0;  ///< lines that are no JSON object
  std::uint64_t tooLong = 0;
};

/// Reads a turn's standard output line by line and writes what a person wants to see to the transcript.
class OutputReader {
 public:
  /// Both must outlive the reader.
  OutputReader(const agents::Protocol& protocol, Transcript& transcript)
      : protocol_(&protocol), transcript_(&transcript) {}

  /// Reads the descriptor to its end. It stays the caller's.
  AgentOutput read(int fd);

 private:
  void line(std::string_view text);
  void apply(const agents::LineRule& rule, JsonPlace place);
  void count(JsonPlace place, const std::string& pointer, std::uint64_t TokenCounts::* member);

  const agents::Protocol* protocol_;
  Transcript* transcript_;
  AgentOutput output_;
};

/// The class of a failed turn's error: the status that the agent told, else the descriptor's words.
agents::ErrorClass classify(const agents::Protocol& protocol, std::uint64_t status, std::string_view error);

}  // namespace coffer::collector
