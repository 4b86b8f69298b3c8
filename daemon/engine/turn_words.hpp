#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/unit.hpp"

namespace coffer::engine {

/// What is known of a turn that did not go well.
struct TurnEvidence {
  std::string agent;         ///< its title
  std::string provider;      ///< the name its owner gave it; empty = it has none
  std::string url;           ///< where its requests go
  std::string_view failure;  ///< the gateway's word for what became of the last request, or empty
  std::uint64_t status = 0;  ///< of HTTP, that the provider answered it with; 0 = not answered
  std::string_view said;     ///< the agent's own last words, visible, or empty
  sandbox::UnitEnd end;
};

/// What happened, as a part of a sentence: `Codex ended with exit status 1: no licence`, `the provider work (URL) does
/// not take its key (HTTP 401)`. One line, bounded. Who was asked for money or for an answer is named before who asked.
std::string turnWords(const TurnEvidence& evidence);

}  // namespace coffer::engine
