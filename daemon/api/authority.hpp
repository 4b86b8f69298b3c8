#pragma once

#include <functional>
#include <string>

namespace coffer::api {

/// What is wrong, and what mends it, when polkit gives no answer: a refused call and a check of the system say the
/// same.
inline constexpr auto kPolkitAway = "polkit does not answer, so nobody but root may do anything";
inline constexpr auto kPolkitRemedy = "systemctl restart polkit; where it is not installed: apt install polkitd";

/// Whether somebody is authorised for a polkit action. The seam behind which polkit is.
class Authority {
 public:
  enum class Verdict {
    Yes,
    No,
    Challenge,    ///< a password would do, but nobody may be asked for one
    Unavailable,  ///< no answer: no polkit, or not in time
  };
  struct Question {
    std::string sender;  ///< unique bus name of who asks
    std::string action;
    std::string object;  ///< path it is about, for rules
    bool interactive = false;
  };

  virtual ~Authority() = default;
  /// Answers exactly once, later, unless this object ends before.
  virtual void check(const Question& question, std::function<void(Verdict)> answer) = 0;
};

}  // namespace coffer::api
