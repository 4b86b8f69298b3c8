"""Work that stands still until a test lets it go on: what happens meanwhile takes as long as it takes."""

import uuid
from pathlib import Path


class Hold:
    """`word` in a request keeps the instant agent's writer; `command` is one of a gate. What nobody lets go on fails after ten minutes."""

    def __init__(self):
        self.file = Path(f"/usr/local/lib/cofferdam-hold-{uuid.uuid4().hex}")
        self.word = f"hold-{self.file.name}"
        self.command = f"timeout 600 sh -c 'until [ -e {self.file} ]; do sleep 0.1; done'"

    def let_go(self, turn=None):
        """From now on, in this kind of turn or in all."""
        Path(f"{self.file}-{turn}" if turn else self.file).touch()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.file.parent.glob(f"{self.file.name}*"):
            file.unlink()
