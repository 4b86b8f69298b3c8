#pragma once

#include <utility>

#include <systemd/sd-bus.h>

namespace coffer::api {

/// Owns one reference to a message of sd-bus.
class Message {
 public:
  Message() = default;
  /// Takes over the caller's reference.
  static Message adopt(sd_bus_message* message) { return Message(message); }
  /// Adds a reference of its own.
  static Message share(sd_bus_message* message) { return Message(sd_bus_message_ref(message)); }

  Message(Message&& other) noexcept : message_(std::exchange(other.message_, nullptr)) {}
  Message& operator=(Message&& other) noexcept {
    if (this != &other) {
      sd_bus_message_unref(message_);
      message_ = std::exchange(other.message_, nullptr);
    }
    return *this;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() { sd_bus_message_unref(message_); }

  [[nodiscard]] sd_bus_message* get() const noexcept { return message_; }
  [[nodiscard]] explicit operator bool() const noexcept { return message_ != nullptr; }

 private:
  explicit Message(sd_bus_message* message) noexcept : message_(message) {}
  sd_bus_message* message_ = nullptr;
};

/// Owns a slot of sd-bus: a match, a filter or a pending call, which ends with it.
class Slot {
 public:
  Slot() = default;
  Slot(Slot&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Slot& operator=(Slot&& other) noexcept {
    if (this != &other) {
      sd_bus_slot_unref(slot_);
      slot_ = std::exchange(other.slot_, nullptr);
    }
    return *this;
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { sd_bus_slot_unref(slot_); }

  /// Where a function of sd-bus puts the slot; what was there is ended.
  [[nodiscard]] sd_bus_slot** out() {
    sd_bus_slot_unref(std::exchange(slot_, nullptr));
    return &slot_;
  }
  void reset() { sd_bus_slot_unref(std::exchange(slot_, nullptr)); }

 private:
  sd_bus_slot* slot_ = nullptr;
};

}  // namespace coffer::api
