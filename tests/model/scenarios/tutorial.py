"""The task of docs/tutorial.md: greet takes a name. The first commit does not compile."""

COMMIT = """git add -A && git commit -q -m "$MESSAGE"
git log -1 --oneline"""

PLAN = r"""cat > /task/out/plan.md <<'PLAN'
+++
kind = "feature"
summary = "Let greet take the name of who is greeted"
+++

`greet` greets the world. With an argument it is to greet whom that names; without one it stays as it is.

1. `greet.c`: greet `argv[1]` where there is one.
2. `test.sh`: test both.

## Acceptance criteria

- [ ] `./greet Ada` prints `Hello, Ada!`
- [ ] `./greet` prints `Hello, world!`
PLAN
cat greet.c test.sh"""

CRITERIA = {
    "if": r"criteria\.md",
    "shell": r"""sed -n '/^## Acceptance criteria/,$p' /task/in/plan.md | sed -n 's/^- \[ \]/- [x]/p' > /task/out/criteria.md""",
}

WRITE = r"""set -e
cd /src
echo "test \"\$(./greet Ada)\" = 'Hello, Ada!'" >>test.sh
sed -i 's/^int main(void)$/int main(int argc, char** argv)/; s/^    puts("Hello, world!");$/    printf("Hello, %s!\\n", argc > 1 ? argv[1] : "world")/' greet.c
MESSAGE='Take the name of who is greeted'
""" + COMMIT

FIX = r"""set -e
cd /src
sed -i 's/"world")$/"world");/' greet.c
make test
MESSAGE='End the statement'
""" + COMMIT

REVIEW = """printf '{"checked": ["greet.c", "test.sh"], "findings": []}\\n' > /task/out/review.json"""

BRANCHES = [
    {"match": r"(?m)^Turn: plan\s*$", "steps": [{"shell": PLAN}, {"text": "The plan is in /task/out/plan.md."}]},
    {"match": r"(?m)^Turn: write\s*$", "steps": [{"shell": WRITE}, CRITERIA, {"text": "greet takes a name."}]},
    {"match": r"(?m)^Turn: fix-gate\s*$", "steps": [{"shell": FIX}, CRITERIA, {"text": "It compiles."}]},
    {"match": r"(?m)^Turn: review\s*$", "steps": [{"shell": REVIEW}, {"text": "Nothing to say."}]},
]
