#pragma once

#include "dictionary.hpp"

namespace coffer::cli {

/// Options of a call that changes something: with an id of its own, so that it can be repeated after a lost answer.
Dictionary changeOptions();

}  // namespace coffer::cli
