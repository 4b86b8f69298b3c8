// Says who loaded it, in every place where somebody could hear it.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void say(const char* path, const char* line, int flags) {
  const int fd = open(path, O_WRONLY | O_APPEND | flags | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (write(fd, line, strlen(line)) < 0) {
  }
  close(fd);
}

__attribute__((constructor)) static void loaded(void) {
  char line[256];
  snprintf(line, sizeof line, "preloaded-library uid=%d euid=%d pid=%d\n", (int)getuid(), (int)geteuid(), (int)getpid());
  // A home stays from one turn to the next, so that what was loaded after a turn's end is seen too.
  say("/home/agent/preloaded", line, O_CREAT);
  if (getuid() != 0 && geteuid() != 0) return;
  for (const char* const* path = (const char* const[]){"/run/cofferdam/preloaded", "/var/lib/cofferdam/preloaded", "/out/preloaded",
                                                       "/run/preloaded", "/var/tmp/preloaded", NULL};
       *path; ++path)
    say(*path, line, O_CREAT);
  const struct sockaddr_un journal = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/dev-log"};
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sendto(fd, line, strlen(line), 0, (const struct sockaddr*)&journal, sizeof journal);
  close(fd);
}
