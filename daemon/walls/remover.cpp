// coffer-remover PATH...: removes directories with all below them, by descriptor, following no link and entering no
// mount, for the purge of the package. It is static, because it is run when the package is gone. A path ends with the
// name of a directory; one that is not there is success. Ends with 1 and a sentence when something is left.

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include <fcntl.h>

#include "os/fd.hpp"
#include "walls/tree_remover.hpp"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  int left = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string path(argv[i]);
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == path.size()) {
      std::fprintf(stderr, "coffer-remover: %s is not the path of a directory\n", argv[i]);
      return 2;
    }
    const coffer::Fd parent(::open(path.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent) continue;
    for (;;) {
      const auto gone = coffer::walls::removeTreeFor(parent.get(), path.substr(slash + 1), 10s);
      if (gone && !*gone) continue;
      if (!gone) {
        std::fprintf(stderr, "coffer-remover: %s is left: %s\n", argv[i], gone.error().message.c_str());
        left = 1;
      }
      break;
    }
  }
  return left;
}
