#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workers/gateway/protocol.hpp"

struct _JsonObject;

namespace coffer::gateway {

/// Tokens of one request, each class for itself: input is what was neither read from nor written to a cache, whatever
/// the protocol puts under that name.
struct Tokens {
  std::uint64_t input = 0;
  std::uint64_t cached = 0;
  std::uint64_t cacheWrite = 0;
  std::uint64_t output = 0;

  [[nodiscard]] std::uint64_t sum() const { return input + cached + cacheWrite + output; }
};

/// Counts tokens in a provider's reply as it passes, from the protocol's own usage fields. It never changes what
/// passes, and what it cannot read (too long, not JSON) it leaves uncounted: the caller then charges by bytes.
class Meter {
 public:
  enum class Framing { Events, Json };

  Meter(Protocol protocol, Framing framing) : protocol_(protocol), framing_(framing) {}

  /// The next bytes of the reply's body, in whatever pieces.
  void feed(std::string_view bytes);
  /// The body is complete.
  void finish();

  [[nodiscard]] const Tokens& tokens() const { return tokens_; }
  /// The provider said how much the whole reply cost: what a cut reply said so far does not count as that.
  [[nodiscard]] bool counted() const { return counted_; }
  /// The model that answered, as the provider names it; at most 128 bytes.
  [[nodiscard]] const std::string& model() const { return model_; }
  /// Type or code of an error the provider sent inside a reply that began well; empty without one.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void line(std::string_view line);
  void dispatch();
  void read(std::string_view json);
  void readResponses(_JsonObject* top);
  void readChat(_JsonObject* top);
  void readMessages(_JsonObject* top);
  void takeOpenAi(_JsonObject* usage, const char* input, const char* inputDetails, const char* output);
  void takeMessages(_JsonObject* usage);
  void takeModel(_JsonObject* holder);
  void takeError(_JsonObject* error);

  Protocol protocol_;
  Framing framing_;
  std::string line_;   ///< bytes of a line that has not ended
  std::string event_;  ///< data of an event that has not ended; with Framing::Json the body
  bool overlong_ = false;
  bool afterReturn_ = false;
  Tokens tokens_;
  bool counted_ = false;
  std::string model_;
  std::string error_;
};

}  // namespace coffer::gateway
