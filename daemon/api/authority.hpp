#pragma once

#include <functional>
#include <string>

namespace coffer::api {

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
