"""text-file, but the model is silent for three seconds before the writer's first command: time in which a turn surely runs."""

import runpy
from pathlib import Path

BRANCHES = runpy.run_path(str(Path(__file__).parent / "text-file.py"))["BRANCHES"]
for _branch in BRANCHES:
    if "(write|" in _branch["match"]:
        _branch["steps"] = [{**_branch["steps"][0], "hold": 3}, *_branch["steps"][1:]]
