"""For all tests: how hypothesis chooses its examples."""

import os

from hypothesis import settings

# The same ones in each run, and no limit of time: a change is refused for what it breaks. New ones with
# REAME_TEST_EFFORT=2 and more.
settings.register_profile("reame", deadline=None, derandomize=int(os.environ.get("REAME_TEST_EFFORT", "1")) < 2)
settings.load_profile("reame")
