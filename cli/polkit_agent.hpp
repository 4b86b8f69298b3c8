#pragma once

#include <sys/types.h>

namespace coffer::cli {

/// polkit's agent for terminals, running while this lives, so that a password can be asked for where there is no
/// desktop to do it. Does nothing for root, without a terminal to type on, and where pkttyagent is not installed.
class PolkitAgent {
 public:
  PolkitAgent();
  PolkitAgent(const PolkitAgent&) = delete;
  PolkitAgent& operator=(const PolkitAgent&) = delete;
  ~PolkitAgent();

  [[nodiscard]] bool running() const { return child_ > 0; }

 private:
  pid_t child_ = -1;
};

}  // namespace coffer::cli
