#pragma once

#include "model/event.hpp"
#include "model/step.hpp"

namespace coffer::model {

/// A step as the payload of "step-opened", and back. Absent members are at their defaults.
Payload toPayload(const Step& step);
Step stepOf(const Event& event);

}  // namespace coffer::model
