#pragma once

namespace coffer::model {

/// Where a person wants a task to be taken up again.
enum class RetryPoint {
  Stopped,  ///< where it stopped
  Plan,     ///< a planner drafts another plan
  Write,    ///< the accepted plan is written anew; the candidate is given up
  Gate,     ///< the candidate is built and tested again
  Review,   ///< the candidate, whose gate was green, is reviewed again
};

}  // namespace coffer::model
