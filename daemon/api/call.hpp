#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "api/caller.hpp"
#include "api/message.hpp"
#include "api/object.hpp"
#include "api/reader.hpp"
#include "api/writer.hpp"
#include "dbus/error.hpp"

namespace coffer::api {

/// One method call while it is worked on: kept over everything that takes time, answered exactly once. A call that is
/// dropped without an answer answers Internal, so nobody waits for ever.
class Call {
 public:
  Call(Message message, Object object);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Arguments by type; the signature has been compared before.
  template <class... Ts>
  [[nodiscard]] std::expected<std::tuple<Ts...>, Error> arguments() const {
    return Reader::arguments<Ts...>(message_.get());
  }

  template <class... Ts>
  void answer(const Ts&... values) {
    answerWith([&](Writer& writer) { (writer.append(values), ...); });
  }
  /// Answers with what `fill` appends, or with the error it returns; if writing fails, with Internal.
  template <class Fill>
  void answerWith(Fill fill) {
    Message reply = begin();
    if (!reply) return;
    Writer writer(reply.get());
    if constexpr (std::is_void_v<std::invoke_result_t<Fill, Writer&>>) {
      fill(writer);
    } else {
      if (const auto filled = fill(writer); !filled) return fail(filled.error());
    }
    send(std::move(reply), writer.error());
  }
  void fail(const Error& error);
  /// An error of the D-Bus specification, such as UnknownMethod.
  void failAs(const char* name, const std::string& text);

  [[nodiscard]] sd_bus_message* message() const { return message_.get(); }
  [[nodiscard]] sd_bus* bus() const;
  [[nodiscard]] std::string_view sender() const;
  [[nodiscard]] std::string_view path() const;
  [[nodiscard]] std::string_view interface() const;
  [[nodiscard]] std::string_view member() const;
  /// Whether the caller lets us ask a person for a password.
  [[nodiscard]] bool interactive() const;
  [[nodiscard]] const Object& object() const { return object_; }

  Caller caller;

 private:
  [[nodiscard]] Message begin();
  void send(Message reply, int error);

  Message message_;
  Object object_;
  bool answered_ = false;
};

using CallPointer = std::shared_ptr<Call>;

}  // namespace coffer::api
