#pragma once

#include <cstdint>
#include <list>
#include <string>

#include <systemd/sd-bus.h>

#include "api/authority.hpp"
#include "api/message.hpp"
#include "model/limits.hpp"

namespace coffer::api {

/// Asks polkit over the bus, with the caller's unique name as the subject: polkit finds user and session by itself, and
/// a name is never used twice, so the answer cannot be about somebody else.
class PolkitAuthority : public Authority {
 public:
  /// The bus outlives this object. `patience` in microseconds.
  explicit PolkitAuthority(sd_bus* bus, std::uint64_t patience = limits::kAuthorisationTime)
      : bus_(bus), patience_(patience) {}

  void check(const Question& question, std::function<void(Verdict)> answer) override;

 private:
  struct Pending {
    PolkitAuthority* self = nullptr;
    std::list<Pending>::iterator place;
    std::string cancellation;
    std::function<void(Verdict)> answer;
    Slot slot;
  };
  static int onReply(sd_bus_message* reply, void* data, sd_bus_error* error);
  void cancel(const std::string& cancellation);

  sd_bus* bus_;
  std::uint64_t patience_;
  std::uint64_t last_ = 0;
  std::list<Pending> pending_;
};

}  // namespace coffer::api
