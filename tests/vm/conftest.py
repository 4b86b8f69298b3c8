"""Tests in the virtual machine use what the system tests use."""

import importlib.util
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "system"))
_file = Path(__file__).parents[1] / "system" / "conftest.py"
_spec = importlib.util.spec_from_file_location("system_conftest", _file)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})

# Emulated: everything takes some ten times as long.
_module.TEST_SECONDS *= 5
_module.WAIT_SECONDS *= 5
