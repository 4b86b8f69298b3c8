#include "engine/turn_words.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "model/limits.hpp"

namespace coffer::engine {
namespace {

/// What the gateway's word says of a provider; whether what the agent was told by it is worth repeating.
struct Verdict {
  std::string_view word;
  std::string_view words;
  bool repeats;
};

constexpr std::array kVerdicts = std::to_array<Verdict>({
    {"auth", "does not take its key", true},
    {"rate-limit", "wants fewer requests for a while", true},
    {"quota", "has no credit left for its key, or its plan is used up", true},
    {"overloaded", "has too much to do", true},
    {"server", "could not serve", true},
    {"context", "says that the conversation is too long for the model", true},
    {"request", "says that the request is wrong", true},
    {"redirect", "wants its requests sent elsewhere, which is not followed: its key goes to this URL alone", false},
    {"unreachable", "cannot be reached: no address of it takes a connection", false},
    {"tls", "shows no certificate that this machine trusts for that name", false},
    {"timeout", "did not answer in time", false},
    {"cut", "ended its answer in the middle", false},
});

/// The beginning of somebody's words, on one line.
std::string quoted(std::string_view said) {
  std::string line;
  for (const char c : said)
    if (c != '\n' && c != '\r' && c != '\t')
      line += c;
    else if (!line.empty() && !line.ends_with(' '))
      line += ' ';
  while (line.ends_with(' ') || line.ends_with('.'))
    line.pop_back();
  if (line.size() <= limits::kSaidBytes) return line;
  auto end = limits::kSaidBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U)
    --end;
  line.resize(end);
  return line + " ...";
}

std::string howItEnded(const TurnEvidence& evidence) {
  const auto& end = evidence.end;
  if (end.result == "oom-kill") return " used more memory than the task may and was killed";
  if (end.result == "timeout") return " did not end in time and was stopped";
  if (end.result == "exit-code") {
    auto words = " ended with exit status " + std::to_string(end.status);
    // What PID 1 of the sandbox makes of a signal.
    if (const char* name = end.status > 128 ? ::sigabbrev_np(end.status - 128) : nullptr)
      words += std::string(" (as by signal ") + name + ")";
    return words;
  }
  if (end.result == "success") return " ended without saying that its turn was over";
  return " was ended from outside (" + end.result + ")";
}

}  // namespace

std::string turnWords(const TurnEvidence& evidence) {
  const auto said = quoted(evidence.said);
  const auto provider = "the provider " + evidence.provider + " (" + evidence.url + ")";
  const bool stopped = evidence.end.result == "oom-kill" || evidence.end.result == "timeout";
  for (const auto& verdict : kVerdicts) {
    if (stopped || evidence.provider.empty() || verdict.word != evidence.failure) continue;
    auto words = provider + " " + std::string(verdict.words);
    if (verdict.repeats && evidence.status != 0) words += " (HTTP " + std::to_string(evidence.status) + ")";
    return verdict.repeats && !said.empty() ? words + ": " + said : words;
  }
  auto words = evidence.agent + howItEnded(evidence);
  const bool waited = evidence.failure == "client-gone" || evidence.failure == "stopped";
  if (evidence.end.result == "timeout" && !evidence.provider.empty() && waited && evidence.status == 0)
    return words + "; it was waiting for an answer of " + provider;
  return said.empty() ? words : words + ": " + said;
}

}  // namespace coffer::engine
