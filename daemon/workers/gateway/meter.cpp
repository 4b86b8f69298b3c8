#include "workers/gateway/meter.hpp"

#include <algorithm>

#include "model/limits.hpp"
#include "workers/gateway/json.hpp"

namespace coffer::gateway {

namespace {

constexpr std::size_t kNameBytes = 128;

std::string bounded(std::string name) {
  if (name.size() > kNameBytes) name.resize(kNameBytes);
  return name;
}

}  // namespace

void Meter::feed(std::string_view bytes) {
  if (framing_ == Framing::Json) {
    if (overlong_ || event_.size() + bytes.size() > limits::kGatewayEventBytes) {
      overlong_ = true;
      event_.clear();
    } else {
      event_ += bytes;
    }
    return;
  }
  // Lines end with CR, LF or both (WHATWG, "Server-sent events", 9.2.6).
  while (!bytes.empty()) {
    if (afterReturn_ && bytes.front() == '\n') bytes.remove_prefix(1);
    afterReturn_ = false;
    const auto end = bytes.find_first_of("\r\n");
    const auto piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > limits::kGatewayEventBytes)
      overlong_ = true;
    else if (!overlong_)
      line_ += piece;
    if (end == std::string_view::npos) return;
    afterReturn_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    line(line_);
    line_.clear();
  }
}

void Meter::line(std::string_view line) {
  if (line.empty() && !overlong_) return dispatch();
  if (line.empty()) {  // the end of an event too long to be read
    overlong_ = false;
    event_.clear();
    return;
  }
  if (!line.starts_with("data:")) return;
  line.remove_prefix(5);
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (event_.size() + line.size() > limits::kGatewayEventBytes) overlong_ = true;
  if (overlong_) return;
  if (!event_.empty()) event_ += '\n';
  event_ += line;
}

void Meter::dispatch() {
  // Most events are a few letters of the answer. Those that cannot hold what is looked for are not parsed.
  if (event_.contains("\"usage\"") || event_.contains("\"error\"")) read(event_);
  event_.clear();
}

void Meter::finish() {
  if (framing_ == Framing::Events) {
    if (!line_.empty()) line(line_);
    line_.clear();
    if (!overlong_) dispatch();
  } else if (!overlong_) {
    read(event_);
  }
}

void Meter::read(std::string_view json) {
  const auto root = parseJson(json);
  JsonObject* top = object(root.get());
  if (top == nullptr) return;
  switch (protocol_) {
    case Protocol::Responses:
      return readResponses(top);
    case Protocol::Chat:
      return readChat(top);
    case Protocol::Messages:
      return readMessages(top);
  }
}

void Meter::readResponses(JsonObject* top) {
  if (framing_ == Framing::Events) {
    const auto type = text(top, "type");
    if (type == "error") {
      JsonObject* nested = member(top, "error");
      return takeError(nested != nullptr ? nested : top);
    }
    if (type != "response.completed" && type != "response.incomplete" && type != "response.failed") return;
    top = member(top, "response");
  }
  takeModel(top);
  takeError(member(top, "error"));
  takeOpenAi(member(top, "usage"), "input_tokens", "input_tokens_details", "output_tokens");
}

void Meter::readChat(JsonObject* top) {
  takeModel(top);
  takeError(member(top, "error"));
  takeOpenAi(member(top, "usage"), "prompt_tokens", "prompt_tokens_details", "completion_tokens");
}

void Meter::readMessages(JsonObject* top) {
  const auto type = text(top, "type");
  if (type == "error") return takeError(member(top, "error"));
  if (framing_ == Framing::Json) {
    takeModel(top);
    takeMessages(member(top, "usage"));
    counted_ = counted_ || member(top, "usage") != nullptr;
  } else if (type == "message_start") {
    takeModel(member(top, "message"));
    takeMessages(member(member(top, "message"), "usage"));
  } else if (type == "message_delta") {
    takeMessages(member(top, "usage"));
    counted_ = counted_ || member(top, "usage") != nullptr;
  }
}

void Meter::takeOpenAi(JsonObject* usage, const char* input, const char* inputDetails, const char* output) {
  if (usage == nullptr) return;
  JsonObject* details = member(usage, inputDetails);
  const auto total = count(usage, input);
  const auto cached = count(details, "cached_tokens").value_or(0);
  const auto written = count(details, "cache_write_tokens").value_or(0);
  // These providers count cached tokens as input too. Some repeat their counts in every chunk, growing.
  const auto fresh = total.value_or(0) - std::min(total.value_or(0), cached + written);
  tokens_.input = std::max(tokens_.input, fresh);
  tokens_.cached = std::max(tokens_.cached, cached);
  tokens_.cacheWrite = std::max(tokens_.cacheWrite, written);
  tokens_.output = std::max(tokens_.output, count(usage, output).value_or(0));
  counted_ = counted_ || total.has_value();
}

void Meter::takeMessages(JsonObject* usage) {
  // Counts are cumulative and repeated: the greatest is the last.
  const auto raise = [usage](std::uint64_t& value, const char* name) {
    value = std::max(value, count(usage, name).value_or(0));
  };
  raise(tokens_.input, "input_tokens");
  raise(tokens_.cached, "cache_read_input_tokens");
  raise(tokens_.cacheWrite, "cache_creation_input_tokens");
  raise(tokens_.output, "output_tokens");
}

void Meter::takeModel(JsonObject* holder) {
  auto name = text(holder, "model");
  if (!name.empty()) model_ = bounded(std::move(name));
}

void Meter::takeError(JsonObject* error) {
  if (error == nullptr) return;
  auto name = text(error, "code");
  if (name.empty()) name = text(error, "type");
  error_ = bounded(name.empty() ? "error" : std::move(name));
}

}  // namespace coffer::gateway
