#!/bin/sh
# The instant agent: plays every role in a few milliseconds, without a model. Installed as /opt/agents/bin/cofferdam-instant.
#
# Words in the person's request switch it. The planner hands them on in the plan's line `Words:`.
#   ask, ask-write        the planner, the writer asks a question in its first turn; ask-rude: the planner, with markup and
#                         with characters that act, turn and hide
#   bad-plan, bad-review  the first draft, the first review cannot be used; the repair can
#   fail-build            the writer's first commits hold a file BROKEN and break the first C file of the top folder; the first
#                         fix mends both. fail-build-always: they stay broken
#   block-once            the reviewer blocks until the writer has answered a review; block-always: every time; warn: not blocking
#   merge                 the writer merges the commit that the feedback names, and keeps both sides of what conflicts
#   nothing, nothing-once the writer changes nothing (in its first turn)
#   risky                 the writer also changes what a forge would run
#   uncommitted           the writer changes a file and does not commit
#   hang, spin, crash     the writer sleeps for ever, loops for ever, dies by a signal; hang-plan, hang-review: the others sleep
#   hold-NAME             the writer waits until there is a file /usr/local/lib/NAME, or NAME-TURN for this turn alone
#   garbage               lines on standard output that are no JSON, or too deep, or too long
#   big-output            more output than any limit; error-429, error-401, error-529, error-context: ends like a refused request
#   fill-disk             the writer's first turn fills its disk and fails; what it made is gone with a reply
#   gibibyte-once         the writer's first turn prints a GiB before it works
#   eat-memory, fork      more memory, more tasks than any limit
#   ask-endpoint          asks the model's endpoint, whose answer is in the transcript
#   fork-and-ask          makes tasks until it may make no more, then asks the endpoint
#   dial, resolve         tries to reach an address, a name
#   run-NAME              the writer runs /usr/local/lib/cofferdam-tests/NAME TURN before it works; what that prints is committed
#   after-NAME            the same after its commit; what that prints goes to standard output
#   big-diff              the writer adds a file of 110000 lines, 7 MiB
#   big-plan              a plan over 256 KiB; link-plan, fifo-plan: one that is not a regular file
set -u
[ "${1-}" = --version ] && { echo "instant 1"; exit 0; }

task_folder=${INSTANT_TASK:-/task} src=${INSTANT_SRC:-/src}  # the variables are for trying it by hand
in=$task_folder/in out=$task_folder/out
field() { sed -n "s/^$1 = \"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$in/turn.toml"; }
role=$(field role) turn=$(field turn) round=$(field round) task=$(field task)

if [ "$role" = planner ] && [ "$turn" != plan-repair ]; then
  # The request stands between two lines of dashes; in a reply what the person said is the first such text.
  request=$(sed -n '/^-----$/,/^-----$/p' "$in/request.md" | grep -v '^-----$')
  words=$(printf %s "$request" | tr -c 'A-Za-z0-9-' ' ' | tr -s ' ')
else
  words=$(sed -n 's/^Words: //p' "$in/plan.md")
fi
has() { case " $words " in *" $1 "*) return 0 ;; esac; return 1; }

home=$HOME/.instant
mkdir -p "$home"
if [ -n "${1-}" ]; then
  session=$1
  [ "$(cat "$home/session" 2>/dev/null)" = "$session" ] || {
    echo '{"type":"error","message":"this home does not know the session"}'
    exit 3
  }
else
  session=instant-$(date +%s%N)
  echo "$session" >"$home/session"
fi
echo "$role $turn $round" >>"$home/turns"
echo "{\"type\":\"start\",\"session\":\"$session\"}"

finish() {
  echo "{\"type\":\"end\",\"text\":\"$1\",\"usage\":{\"input\":1000,\"cached\":100,\"output\":10}}"
  exit 0
}
question() { printf '%s\n' "$1" >"$out/question.md"; finish "I asked"; }
fail() { echo "{\"type\":\"error\",\"status\":$1,\"message\":\"$2\"}"; exit 1; }
slow() {
  has "$1" || return 0
  echo '{"type":"did","command":"sleep infinity","output":"I hang"}'
  exec sleep infinity
}
# /usr is the host's, so a file that is made there is seen here.
hold() {
  waited=0
  until [ -e "$1" ] || [ -e "$1-$turn" ]; do
    [ "$waited" -lt 6000 ] || fail 0 "nobody let me go on"
    sleep 0.1
    waited=$((waited + 1))
  done
}
# What `make` and `test ! -e BROKEN` both notice.
break_build() {
  echo "turn $turn in round $round" >>"$src/BROKEN"
  for file in "$src"/*.c; do
    [ -e "$file" ] && echo '#error broken on purpose' >>"$file"
    break
  done
}
mend_build() {
  rm -f "$src/BROKEN"
  for file in "$src"/*.c; do [ -e "$file" ] && sed -i '/^#error broken on purpose$/d' "$file"; done
}
own_programs() { # PREFIX; what they print goes to descriptor 4
  for word in $words; do
    case $word in "$1"*) "/usr/local/lib/cofferdam-tests/${word#"$1"}" "$turn" >&4 || fail 0 "${word#"$1"} failed" ;; esac
  done
}
commit() {
  git -C "$src" add -A && git -C "$src" commit -q -m "$1" || fail 0 "git could not commit"
  echo "{\"type\":\"did\",\"command\":\"git commit\",\"output\":\"$1\"}"
}

for status in 429 401 529; do
  [ "$role" = writer ] && has "error-$status" && fail "$status" "the provider answered $status"
done
[ "$role" = writer ] && has error-context && fail 400 "the context length is exceeded"
if has garbage; then
  printf 'plain text\n\000\377\376 bytes\n{"type":\n{"type":"end"\n[]\n"text"\n{"type":{"type":[1,2,{"usage":"end"}]}}\n'
  head -c 100000 /dev/zero | tr '\0' '['; echo
  head -c 3000000 /dev/zero | tr '\0' 'x'; echo
fi

case $role in
planner)
  slow hang-plan
  if [ "$turn" = plan ] && has ask; then question "Which of the two?"; fi
  if [ "$turn" = plan ] && has ask-rude; then
    question "$(printf 'So rude: <b>bold</b> &amp; <a href="http://example.org/">link</a>\nesc \033[31mred\033[0m bell \007 turn \342\200\256drawkcab hide \342\200\213.')"
  fi
  if [ "$turn" = plan ] && has bad-plan; then printf 'no header\nWords: %s\n' "$words" >"$out/plan.md"; finish "a bad plan"; fi
  has big-plan && { head -c 300000 /dev/zero | tr '\0' 'p' >"$out/plan.md"; finish "a big plan"; }
  has link-plan && { ln -s /etc/passwd "$out/plan.md"; finish "a link"; }
  has fifo-plan && { mkfifo "$out/plan.md"; finish "a pipe"; }
  cat >"$out/plan.md" <<PLAN
+++
kind = "other"
summary = "Note task $task in instant.txt"
+++

## Goal

Words: $words

## Acceptance criteria

- [ ] \`instant.txt\` has a line for each of the writer's turns.
PLAN
  finish "the plan is written"
  ;;
writer)
  slow hang
  has spin && while :; do :; done
  has crash && kill -SEGV $$
  has big-output && { yes "more output than any limit" ; exit 1; }
  has fill-disk && {
    [ "$turn" = write ] && { head -c 1073741824 /dev/zero >"$src/filling.bin" || fail 0 "I cannot write any more"; }
    rm -f "$src/filling.bin"
  }
  has gibibyte-once && [ "$(grep -c '^writer write' "$home/turns")" = 1 ] && yes "a gibibyte of output" | head -c 1073741824
  # A wrong key: the gateway answers by itself, and so shows that it is there.
  has ask-endpoint && {
    code=$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer none' http://127.0.0.1:4180/v1/models)
    echo "{\"type\":\"did\",\"command\":\"ask\",\"output\":\"the endpoint says $code\"}"
  }
  has eat-memory && tail /dev/zero
  has fork-and-ask && exec python3 -c '
import json, os, signal, urllib.error, urllib.request
def did(output):
    print(json.dumps({"type": "did", "command": "fork", "output": output}), flush=True)
for _ in range(100000):
    try:
        if os.fork() == 0:
            signal.pause()
    except BlockingIOError:
        did("more tasks than that: no")
        break
try:
    code = urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:4180/v1/models", headers={"Authorization": "Bearer none"})).status
except urllib.error.HTTPError as error:
    code = error.code
did(f"the endpoint says {code}")
print(json.dumps({"type": "end", "text": "asked", "usage": {"input": 1, "cached": 0, "output": 1}}))
'
  has fork && { n=0; while :; do sleep 60 & n=$((n + 1)); done; }
  has dial && { out_of=$(git ls-remote https://198.51.100.7/x 2>&1); echo "{\"type\":\"did\",\"command\":\"dial\"}"; }
  has resolve && getent hosts example.org
  for word in $words; do case $word in hold-*) hold "/usr/local/lib/${word#hold-}" ;; esac; done
  if [ "$turn" = write ] && has ask-write; then question "How should this be done?"; fi
  has nothing && finish "I did nothing"
  [ "$turn" = write ] && has nothing-once && finish "I did nothing yet"
  [ "$turn" = self-review ] && finish "I read my work"
  own_programs run- 4>>"$src/told.txt"
  [ -s "$src/told.txt" ] || rm -f "$src/told.txt"
  if has merge && [ -e "$in/feedback.md" ]; then
    other=$(sed -n 's/.*`git merge \([0-9a-f]*\)`.*/\1/p' "$in/feedback.md")
    if [ -n "$other" ] && ! git -C "$src" merge -q "$other" >/dev/null; then
      for file in $(git -C "$src" diff --name-only --diff-filter=U); do sed -i '/^[<=>]\{7\}/d' "$src/$file"; done
      commit "Merge $other"
    fi
  fi
  echo "turn $turn in round $round" >>"$src/instant.txt"
  has risky && mkdir -p "$src/.github/workflows" && echo "on: push" >"$src/.github/workflows/instant.yml"
  has big-diff && seq -f 'line %.0f of many, all of them about as long as a line of code is' 110000 >"$src/big.txt"
  has uncommitted && finish "I forgot to commit"
  if has fail-build-always; then
    break_build
  elif has fail-build; then
    case $turn in
    write) break_build ;;
    fix-gate) mend_build ;;
    esac
  fi
  [ "$turn" = fix-review ] && echo "All said" >"$out/answer.md"
  printf -- '- [x] `instant.txt` has a line for each turn\n' >"$out/criteria.md"
  printf 'instant.txt: seen missing, then seen\n' >"$out/red.md"
  commit "Note the turn $turn of round $round"
  own_programs after- 4>&1
  finish "committed"
  ;;
reviewer)
  slow hang-review
  if [ "$turn" = review ] && has bad-review; then printf '{"findings": "none"' >"$out/review.json"; finish "a bad review"; fi
  severity=
  has warn && severity=warning
  has block-always && severity=error
  has block-once && ! grep -q 'turn fix-review' "$src/instant.txt" && severity=error
  findings=
  [ -n "$severity" ] && findings="{\"severity\": \"$severity\", \"path\": \"instant.txt\", \"line\": 1, \"title\": \"The line says too little\", \"text\": \"Say more.\"}"
  printf '{"checked": ["instant.txt has a line for each turn"], "findings": [%s]}\n' "$findings" >"$out/review.json"
  finish "reviewed"
  ;;
esac
fail 0 "turn.toml names no role"
