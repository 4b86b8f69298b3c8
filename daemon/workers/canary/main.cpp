// Runs once a boot with exactly the properties of an agent's unit, before the first agent does, and tries what an agent
// must not be able to do. PID 1 accepts properties that it then ignores where the kernel or a drop-in has it so; what
// is reported here is what is.
//
// Reads /task/in/request (what it is compared with), writes /task/out/report: `held NAME` or `broken NAME` with `why`
// after it, one for each promise, and ends with 0. The names are in daemon/sandbox/promises.hpp; one that is not
// reported counts as broken.

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.hpp"
#include "workers/record.hpp"

namespace {

using coffer::Records;

std::string readFile(const char* path) {
  const coffer::Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; file && (got = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

std::string linkOf(const std::string& path) {
  char target[256] = {};
  return ::readlink(path.c_str(), target, sizeof target - 1) > 0 ? target : "";
}

/// The value of a line `NAME:\tVALUE` of /proc/self/status.
std::string status(std::string_view name) {
  static const std::string text = readFile("/proc/self/status");
  const auto at = text.find("\n" + std::string(name) + ":\t");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 3;
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Empty: it holds. Otherwise what was possible.
using Why = std::string;

Why pidNamespace() { return ::getpid() == 1 ? "" : "it is process " + std::to_string(::getpid()); }

Why otherThanHost(const Records& request, const std::string& kind) {
  const auto host = request.get("host." + kind);
  const auto own = linkOf("/proc/self/ns/" + kind);
  if (host.empty() || own.empty()) return "the namespace cannot be told";
  return own == host ? "it is in the host's namespace" : "";
}

Why networkNamespace(const Records& request) {
  if (linkOf("/proc/self/ns/net") != "net:[" + std::string(request.get("network")) + "]")
    return "it is not in the namespace that was made for it";
  Why why;
  struct if_nameindex* list = ::if_nameindex();
  if (!list) return "interfaces cannot be listed";
  for (const auto* each = list; each->if_index != 0; ++each)
    if (std::strcmp(each->if_name, "lo") != 0) why = std::string("it has the interface ") + each->if_name;
  ::if_freenameindex(list);
  return why;
}

Why capabilities() {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    if (status(set) != "0000000000000000") return std::string(set) + " is " + status(set);
  return "";
}

Why privileges() { return status("NoNewPrivs") == "1" ? "" : "programs can gain privileges"; }

struct Call {
  const char* name;
  long number;
  std::array<long, 5> arguments;
};

/// Calls that reach the kernel with another error, or succeed, where no filter is.
Why systemCalls() {
  const auto self = static_cast<long>(::getpid());
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  ::sched_getaffinity(0, sizeof cpus, &cpus);
  const auto affinity = static_cast<long>(reinterpret_cast<std::intptr_t>(&cpus));
  const std::vector<Call> calls = {
      {"kcmp", SYS_kcmp, {self, self, KCMP_VM, 0, 0}},
      {"process_vm_readv", SYS_process_vm_readv, {self, 0, 0, 0, 0}},
      {"process_vm_writev", SYS_process_vm_writev, {self, 0, 0, 0, 0}},
      {"io_uring_setup", SYS_io_uring_setup, {1, 0, 0, 0, 0}},
      {"userfaultfd", SYS_userfaultfd, {0, 0, 0, 0, 0}},
      {"name_to_handle_at", SYS_name_to_handle_at, {AT_FDCWD, 0, 0, 0, 0}},
      {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0, 0, 0}},
      {"memfd_secret", SYS_memfd_secret, {0, 0, 0, 0, 0}},
      {"vmsplice", SYS_vmsplice, {-1, 0, 0, 0, 0}},
      {"bpf", SYS_bpf, {-1, 0, 0, 0, 0}},
      {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
      {"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0, 0, 0}},
      {"open_tree", SYS_open_tree, {-1, 0, 0, 0, 0}},
      {"mount_setattr", SYS_mount_setattr, {-1, 0, 0, 0, 0}},
      {"personality", SYS_personality, {0xffffffff, 0, 0, 0, 0}},
      {"sched_setaffinity", SYS_sched_setaffinity, {0, sizeof cpus, affinity, 0, 0}},
      {"pkey_alloc", SYS_pkey_alloc, {0, 0, 0, 0, 0}},
      {"ptrace", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0, 0}},
  };
  for (const auto& call : calls) {
    const auto& a = call.arguments;
    const long result = ::syscall(call.number, a[0], a[1], a[2], a[3], a[4]);
    if (result >= 0 || (errno != EPERM && errno != ENOSYS)) return std::string(call.name) + " reaches the kernel";
  }
  return "";
}

/// A call by another architecture's gate would not be filtered: its child has to be ended for it.
Why architectures() {
#ifdef __x86_64__
  const pid_t child = ::fork();
  if (child < 0) return "no child could be made";
  if (child == 0) {
    long result = 20;  // getpid() of i386
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    ::_exit(result >= 0 ? 0 : 1);
  }
  int ended = 0;
  if (::waitpid(child, &ended, 0) != child) return "a child was lost";
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? "calls of another architecture are answered" : "";
#else
  return "";
#endif
}

Why namespaces() {
  for (const int kind : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET}) {
    const pid_t child = ::fork();
    if (child < 0) return "no child could be made";
    if (child == 0) ::_exit(::unshare(kind) == 0 ? 0 : 1);
    int ended = 0;
    if (::waitpid(child, &ended, 0) != child) return "a child was lost";
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return "it can make namespaces of its own";
  }
  return "";
}

Why families() {
  // Where no filter is, the kernel says something else: that one may not, or that there is no such type.
  for (const int family : {AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH}) {
    const coffer::Fd socket(::socket(family, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (socket || errno != EAFNOSUPPORT) return "sockets of family " + std::to_string(family) + " reach the kernel";
  }
  return "";
}

Why setuidFiles() {
  const char* path = "/tmp/setuid";
  const coffer::Fd file(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
  if (!file) return "nothing can be written in /tmp";
  const bool made = ::fchmod(file.get(), 04700) == 0;
  ::unlink(path);
  return made ? "a file can be made setuid" : "";
}

Why readOnly() {
  for (const char* path : {"/", "/usr", "/etc", "/run", "/src", "/task/in"}) {
    struct statvfs found{};
    if (::statvfs(path, &found) != 0) return std::string(path) + " cannot be looked at";
    if ((found.f_flag & ST_RDONLY) == 0) return std::string(path) + " can be written";
  }
  for (const char* path : {"/tmp", "/var/tmp", "/dev/shm"}) {
    struct statvfs found{};
    if (::statvfs(path, &found) != 0) return std::string(path) + " cannot be looked at";
    if ((found.f_flag & ST_NOSUID) == 0 || (found.f_flag & ST_NODEV) == 0)
      return std::string(path) + " honours setuid bits or devices";
  }
  return "";
}

Why devices() {
  DIR* list = ::opendir("/dev");
  if (!list) return "/dev cannot be looked at";
  Why why;
  while (const dirent* entry = ::readdir(list)) {
    struct stat found{};
    if (::fstatat(::dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISCHR(found.st_mode) && !S_ISBLK(found.st_mode)) continue;
    // null, zero, full, random, urandom; tty, ptmx: nothing that is somebody's.
    const auto kind = major(found.st_rdev);
    const auto which = minor(found.st_rdev);
    const bool harmless =
        S_ISCHR(found.st_mode) && ((kind == 1 && which != 1 && which != 2 && which != 4 && which <= 9) ||
                                   (kind == 5 && (which == 0 || which == 2)));
    if (!harmless) why = std::string("/dev/") + entry->d_name + " is there";
  }
  ::closedir(list);
  return why;
}

Why absent(const std::vector<const char*>& paths) {
  for (const char* path : paths) {
    struct stat found{};
    if (::lstat(path, &found) == 0) return std::string(path) + " is there";
  }
  return "";
}

Why hostFiles() {
  return absent({"/etc/shadow", "/etc/machine-id", "/var/lib/cofferdam", "/var/lib/systemd", "/run/cofferdam",
                 "/run/systemd/private", "/run/systemd/journal", "/run/dbus", "/boot"});
}

Why kernelFiles() {
  return absent({"/proc/sys/kernel", "/proc/kcore", "/proc/kmsg", "/proc/meminfo", "/proc/sysrq-trigger", "/sys/kernel",
                 "/sys/fs/cgroup/cgroup.procs"});
}

Why controlGroup() {
  const auto text = readFile("/proc/self/cgroup");
  return text.find("0::/\n") == std::string::npos ? "it sees its place among the host's control groups" : "";
}

}  // namespace

int main() {
  const auto request = Records::parse(readFile("/task/in/request"));
  if (!request) return 1;
  Records report;
  const auto tell = [&report](const char* name, const Why& why) {
    report.add(why.empty() ? "held" : "broken", name);
    if (!why.empty()) report.add("why", why);
  };
  tell("pid-namespace", pidNamespace());
  tell("ipc-namespace", otherThanHost(*request, "ipc"));
  tell("user-namespace", otherThanHost(*request, "user"));
  tell("network-namespace", networkNamespace(*request));
  tell("control-group", controlGroup());
  tell("capabilities", capabilities());
  tell("privileges", privileges());
  tell("namespaces", namespaces());
  tell("families", families());
  tell("setuid-files", setuidFiles());
  tell("read-only", readOnly());
  tell("devices", devices());
  tell("host-files", hostFiles());
  tell("kernel-files", kernelFiles());
  tell("architectures", architectures());
  tell("system-calls", systemCalls());

  const auto text = report.serialize();
  const coffer::Fd file(::open("/task/out/report", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 1;
  return 0;
}
