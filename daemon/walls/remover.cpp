// coffer-remover PATH...: removes directories with all below them, by descriptor, following no link and entering no
// mount, for the purge of the package. It is static, because it is run when the package is gone. A path ends with the
// name of a directory; one that is not there is success. Ends with 1 and a sentence when something is left.

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>

#include "os/fd.hpp"
#include "os/tree_remover.hpp"

int main(int argc, char** argv) {
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
    const auto gone = coffer::os::removeDirectory(parent.get(), path.substr(slash + 1), coffer::os::Foreign::AsTheyAre);
    if (gone) continue;
    std::fprintf(stderr, "coffer-remover: %s is left: %s: %s\n", argv[i], gone.error().what.c_str(),
                 std::strerror(gone.error().number));
    left = 1;
  }
  return left;
}
