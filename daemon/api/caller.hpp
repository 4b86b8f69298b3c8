#pragma once

#include <sys/types.h>

namespace coffer::api {

/// Who asks. The uid is what the bus says about the connection, never what a message says.
struct Caller {
  uid_t uid = static_cast<uid_t>(-1);
  /// May see what is others': uid 0, or authenticated for see-other on this connection, not long ago.
  bool administrator = false;
};

}  // namespace coffer::api
