#pragma once

#include <string>

#include "os/fd.hpp"
#include "walls/fault.hpp"

namespace coffer::walls {

/// A loop device over a file. It clears itself when the last user (this descriptor, a mount) is gone.
struct LoopDevice {
  Fd fd;
  std::string path;  ///< /dev/loopN
};

/// One that has no file, opened; somebody else may still be faster to attach theirs. Environment when there is none.
Result<LoopDevice> freeLoop();

/// Attaches a file that was opened read-write. Busy while any loop device still has that file: mounted twice, a file
/// system is destroyed, and a unit that ended a moment ago may still hold the earlier one. Environment when there is no
/// free device.
Result<LoopDevice> attachLoop(int file);

}  // namespace coffer::walls
