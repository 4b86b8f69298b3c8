#pragma once

#include <chrono>
#include <string>

#include "walls/fault.hpp"

namespace coffer::walls {

/// Removes `name` in `parent` with all below it, by descriptor: no link is followed and no mount entered, however deep
/// or wide the tree is and whatever an agent called its files. True when it is gone (or was never there); false when
/// `budget` ended first: call again.
Result<bool> removeTreeFor(int parent, const std::string& name, std::chrono::milliseconds budget);

}  // namespace coffer::walls
