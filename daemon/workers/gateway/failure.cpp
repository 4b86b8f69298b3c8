#include "workers/gateway/failure.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>

#include <glib.h>
#include <time.h>

#include "model/pause_limits.hpp"
#include "workers/gateway/json.hpp"

namespace coffer::gateway {

namespace {

struct DateUnref {
  void operator()(GDateTime* date) const { g_date_time_unref(date); }
};

std::optional<double> number(std::string_view text, std::string_view* rest = nullptr) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !(value >= 0) || value > 1e12) return std::nullopt;
  const auto left = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest != nullptr)
    *rest = left;
  else if (!left.empty())
    return std::nullopt;
  return value;
}

std::uint64_t roundUp(double seconds) { return static_cast<std::uint64_t>(std::ceil(seconds)); }

/// "1h2m3.5s", "20ms"
std::optional<std::uint64_t> duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const auto value = number(text, &text);
    if (!value) return std::nullopt;
    if (text.starts_with("ms")) {
      total += *value / 1000;
      text.remove_prefix(2);
      continue;
    }
    const auto unit = text.empty() ? 's' : text.front();
    if (unit != 'd' && unit != 'h' && unit != 'm' && unit != 's') return std::nullopt;
    total += *value * (unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
    if (!text.empty()) text.remove_prefix(1);
  }
  return roundUp(total);
}

/// A date as in HTTP (RFC 9110, 5.6.7) or RFC 3339, in seconds since 1970.
std::optional<std::uint64_t> date(std::string_view value) {
  const std::string text(value);
  tm parts{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end != nullptr && *end == '\0') {
    const auto seconds = timegm(&parts);
    return seconds >= 0 ? std::optional(static_cast<std::uint64_t>(seconds)) : std::nullopt;
  }
  const std::unique_ptr<GDateTime, DateUnref> parsed(g_date_time_new_from_iso8601(text.c_str(), nullptr));
  if (!parsed) return std::nullopt;
  const auto seconds = g_date_time_to_unix(parsed.get());
  return seconds >= 0 ? std::optional(static_cast<std::uint64_t>(seconds)) : std::nullopt;
}

}  // namespace

std::string_view classifyWord(std::string_view word) {
  const auto has = [word](std::string_view part) { return word.contains(part); };
  if (has("insufficient_quota") || has("usage_limit") || has("billing") || has("credit")) return failure::kQuota;
  if (has("rate_limit")) return failure::kRateLimit;
  if (has("overloaded")) return failure::kOverloaded;
  if (has("context_length") || has("request_too_large")) return failure::kContext;
  if (has("authentication") || has("permission") || has("invalid_api_key")) return failure::kAuth;
  if (has("invalid_request") || has("not_found") || has("invalid_prompt")) return failure::kRequest;
  return failure::kServer;
}

std::string_view classifyStatus(unsigned status, std::string_view body) {
  if (status < 300) return {};
  if (status < 400) return failure::kRedirect;
  const auto root = parseJson(body);
  JsonObject* error = member(object(root.get()), "error");
  const auto word = text(error, "code") + " " + text(error, "type");
  if (word.size() > 1) {
    const auto named = classifyWord(word);
    if (named == failure::kQuota || named == failure::kContext) return named;
  }
  // Anthropic says both in prose alone, under invalid_request_error.
  if (status == 400 && text(error, "message").contains("credit balance")) return failure::kQuota;
  if (status == 400 && text(error, "message").contains("prompt is too long")) return failure::kContext;
  switch (status) {
    case 401:
    case 403:
      return failure::kAuth;
    case 402:
      return failure::kQuota;
    case 413:
      return failure::kContext;
    case 429:
      return failure::kRateLimit;
    case 503:
    case 529:
      return failure::kOverloaded;
    default:
      return status < 500 ? failure::kRequest : failure::kServer;
  }
}

Pause readPause(const std::function<std::string_view(std::string_view)>& header, std::uint64_t now) {
  Pause pause;
  const auto after = header("retry-after");
  if (const auto seconds = number(after))
    pause.retryAfter = roundUp(*seconds);
  else if (const auto until = date(after))
    pause.retryAfter = *until - std::min(*until, now);
  if (const auto milliseconds = number(header("retry-after-ms"))) pause.retryAfter = roundUp(*milliseconds / 1000);
  if (pause.retryAfter) pause.retryAfter = std::min(*pause.retryAfter, limits::kProviderPauseSeconds);

  const auto until = [&](std::optional<std::uint64_t> time) {
    if (time && *time >= now && *time - now <= limits::kProviderPauseSeconds)
      pause.reset = std::max(pause.reset.value_or(0), *time);
  };
  for (const std::string_view name : {"x-ratelimit-reset-requests", "x-ratelimit-reset-tokens",
                                      "x-codex-primary-reset-after-seconds", "x-codex-secondary-reset-after-seconds"}) {
    if (const auto left = duration(header(name))) until(now + std::min(*left, limits::kProviderPauseSeconds + 1));
  }
  for (const std::string_view name :
       {"anthropic-ratelimit-unified-reset", "anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-reset"}) {
    const auto value = header(name);
    if (const auto seconds = number(value))
      until(roundUp(*seconds));
    else
      until(date(value));
  }
  return pause;
}

}  // namespace coffer::gateway
