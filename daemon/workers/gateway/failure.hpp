#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace coffer::gateway {

/// Why a request did not do what the agent wanted. The words are what cofferd reads under the key `error`.
namespace failure {
inline constexpr std::string_view kRateLimit = "rate-limit";   ///< later is fine: see retry-after and reset
inline constexpr std::string_view kQuota = "quota";            ///< no credit, or a plan's allowance is used up
inline constexpr std::string_view kAuth = "auth";              ///< the provider does not take the key
inline constexpr std::string_view kOverloaded = "overloaded";  ///< the provider has too much to do
inline constexpr std::string_view kServer = "server";          ///< another fault of the provider
inline constexpr std::string_view kContext = "context";        ///< the conversation is too long for the model
inline constexpr std::string_view kRequest =
    "request";  ///< the provider says the request is wrong (also: no such model)
inline constexpr std::string_view kRedirect = "redirect";  ///< the provider wanted to send us elsewhere
inline constexpr std::string_view kUnreachable =
    "unreachable";                                       ///< no name, no address that may be dialled, no connection
inline constexpr std::string_view kTls = "tls";          ///< the provider's certificate or handshake is not good
inline constexpr std::string_view kTimeout = "timeout";  ///< the provider was silent for too long
inline constexpr std::string_view kCut = "cut";          ///< the reply ended in the middle
inline constexpr std::string_view kClientGone = "client-gone";  ///< the agent hung up
inline constexpr std::string_view kStopped = "stopped";         ///< the gateway was told to stop, or died, meanwhile
inline constexpr std::string_view kBudget = "budget";           ///< the run's own budget is used up
inline constexpr std::string_view kBody = "body";  ///< the agent's body was too long or not what it announced
}  // namespace failure

/// Tells a provider's answer apart by its status and the error's own word; empty for an answer that is none of these.
/// @param body the beginning of an error's body; empty when there is none
std::string_view classifyStatus(unsigned status, std::string_view body);

/// The same for an error inside a stream that began with 200, by its word (`rate_limit_exceeded`, `overloaded_error`,
/// ...).
std::string_view classifyWord(std::string_view word);

/// When a provider says it will answer again.
struct Pause {
  std::optional<std::uint64_t> retryAfter;  ///< seconds
  std::optional<std::uint64_t> reset;       ///< seconds since 1970
};

/// Reads what providers say about their limits: retry-after (seconds or a date), anthropic-ratelimit-*-reset,
/// x-ratelimit-reset-* and x-codex-*-reset-after-seconds; the latest of several, since all of them must have passed.
/// @param header gives a header's value, empty when there is none
/// @param now seconds since 1970
Pause readPause(const std::function<std::string_view(std::string_view)>& header, std::uint64_t now);

}  // namespace coffer::gateway
