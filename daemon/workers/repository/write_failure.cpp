#include "workers/repository/write_failure.hpp"

#include <cerrno>
#include <cstring>

#include "workers/worker.hpp"

namespace coffer::repository {

using workers::refuse;

bool isFull(int number) { return number == ENOSPC || number == EDQUOT; }

std::unexpected<Error> noSpace(const std::string& what) {
  return refuse(ErrorCode::NoSpace, "There is no room where the repository is, so the landing " + what +
                                        ". Nothing has landed, and nothing is changed. Make room, then accept the work "
                                        "again.");
}

std::unexpected<Error> cannot(const std::string& what, ErrorCode otherwise) {
  const int number = errno;
  if (isFull(number)) return noSpace("cannot " + what);
  const std::string advice =
      otherwise == ErrorCode::AccessDenied ? ". See whose it is and who may write there, then accept again." : "";
  return refuse(otherwise, "The landing cannot " + what + ": " + std::strerror(number) + advice);
}

}  // namespace coffer::repository
