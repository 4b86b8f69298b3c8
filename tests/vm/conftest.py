"""Tests in the virtual machine use what the system tests use."""

import importlib.util
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "system"))
import pace  # noqa: E402

# Emulated: everything takes some ten times as long.
pace.SLOWER = 5
_file = Path(__file__).parents[1] / "system" / "conftest.py"
_spec = importlib.util.spec_from_file_location("system_conftest", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
