"""Adds COFFERDAM.txt to any repository, after one failing round.

The gate's test command is to begin with `grep -q '^finished' COFFERDAM.txt`: the first commit says `draft`, the fix says
`finished`.
"""

COMMIT = """git add COFFERDAM.txt && { git commit -q -m "$MESSAGE" || git -c user.name=Writer -c user.email=writer@example.invalid commit -q -m "$MESSAGE"; }
git log -1 --oneline"""

PLAN = r"""cat > /task/out/plan.md <<'PLAN'
+++
kind = "docs"
summary = "Add a text file that says a task ran"
+++

`COFFERDAM.txt` says that a task went through this repository.

## Acceptance criteria

- [ ] `COFFERDAM.txt` is there and says `finished`
PLAN"""

CRITERIA = {
    "if": r"criteria\.md",
    "shell": r"""sed -n '/^## Acceptance criteria/,$p' /task/in/plan.md | sed -n 's/^- \[ \]/- [x]/p' > /task/out/criteria.md""",
}

WRITE = "set -e\ncd /src\necho 'draft: a task was here' > COFFERDAM.txt\nMESSAGE='Add COFFERDAM.txt'\n" + COMMIT
FIX = "set -e\ncd /src\necho 'finished: a task was here' > COFFERDAM.txt\nMESSAGE='Finish COFFERDAM.txt'\n" + COMMIT
REVIEW = """printf '{"checked": ["COFFERDAM.txt"], "findings": []}\\n' > /task/out/review.json"""

BRANCHES = [
    {"match": r"(?m)^Turn: plan\s*$", "steps": [{"shell": PLAN}, {"text": "The plan is in /task/out/plan.md."}]},
    {"match": r"(?ms)^Role: planner\s*$.*^Turn: (repair|reply)\s*$|^Turn: (repair|reply)\s*$.*^Role: planner\s*$",
     "steps": [{"shell": PLAN}, {"text": "The plan is in /task/out/plan.md."}]},
    {"match": r"(?m)^Turn: (write|repair)\s*$", "steps": [{"shell": WRITE}, CRITERIA, {"text": "COFFERDAM.txt is there."}]},
    {"match": r"(?m)^Turn: (fix-gate|fix-review|reply)\s*$", "steps": [{"shell": FIX}, CRITERIA, {"text": "COFFERDAM.txt is finished."}]},
    {"match": r"(?m)^Turn: review\s*$", "steps": [{"shell": REVIEW}, {"text": "Nothing to say."}]},
]
