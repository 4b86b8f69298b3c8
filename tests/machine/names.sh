# What the scripts of this folder share: where a machine's files are, how its first process is found. Sourced, not run.
# shellcheck shell=bash
cache=${COFFERDAM_CACHE:-/var/cache/cofferdam-build}
source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${COFFERDAM_BUILD:-$cache/build/$(printf %s "$source_tree" | sha256sum | cut -c1-12)}

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }
fail() { say "$*"; exit 1; }

# A command whose own words only matter when it fails: they go to LOG, and every 20 s the last of them tells that it is still at it.
slowly() { # LOG COMMAND...
  local log=$1 mine=$BASHPID code=0 ticker
  shift
  (
    exec {nothing}<> <(:)
    while ! read -r -t 20 -u "$nothing" && kill -0 "$mine" 2>/dev/null; do
      say "  ... $(tail -c 2000 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c1-100)"
    done
  ) &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || code=$?
  kill "$ticker" 2>/dev/null && wait "$ticker" 2>/dev/null || true
  [ "$code" = 0 ] || { grep -Ev '^(\[[0-9]+/|ninja: Entering)' "$log" | tail -n 100 >&2 || true; return "$code"; }
}

# A command that the host may lack, from the package that has it.
need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null && return
  say "installing $2"
  local -x DEBIAN_FRONTEND=noninteractive
  local install=(apt-get install -y -q --no-install-recommends "$2")
  # Its lists are often fresh enough.
  "${install[@]}" >/dev/null 2>&1 || { apt-get update -q && "${install[@]}"; } >/dev/null 2>&1 ||
    fail "this needs $1 of Debian's package $2, which cannot be installed"
}

# A name for this tree's own machine, so that two trees on one host never share one.
treeName() { printf '%s-%s' "$1" "$(printf %s "$source_tree" | sha256sum | cut -c1-8)"; }

# Sets: name, machine (its folder).
useMachine() {
  name=$1
  [[ $name =~ ^[a-z0-9][a-z0-9-]{0,30}$ ]] || fail "a machine's name is [a-z0-9-], at most 31 characters: $name"
  machine=$cache/machines/$name
}

# A process id is only that of ours while it still started when we noted it.
startedAt() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# Reads PID and start time from file $1; prints the PID when it is still that very process.
livePid() {
  local pid started
  [ -e "$1" ] || return 1
  read -r pid started <"$1" || return 1
  [ -n "$started" ] && [ "$(startedAt "$pid")" = "$started" ] && echo "$pid"
}

leader() { livePid "$machine/leader"; }

# What the machine's /etc/cofferdam/cofferd.toml has to say of the cgroup controllers that it lacks.
acceptMissing() {
  local quoted
  quoted=$(sed '/^$/d; s/.*/"&", /' "$machine/lacks" | tr -d '\n')
  printf '# This machine is a container without these cgroup controllers.\naccept-missing = [%s]\n' "${quoted%, }"
}
