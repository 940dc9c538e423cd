"""Which parts of llama-cpp-python are imported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import reame_core.llama.bindings as bindings
assert "llama_cpp.llama_chat_format" not in sys.modules
import llama_cpp
assert llama_cpp.llama_cpp is bindings.lib
assert llama_cpp.Llama
"""
OTHER_WAY_ROUND = """
import llama_cpp
import reame_core.llama.bindings as bindings
assert llama_cpp.llama_cpp is bindings.lib
"""


def test_only_the_bindings_are_imported_and_others_still_get_all_of_it() -> None:
    for program in (PROGRAM, OTHER_WAY_ROUND):
        subprocess.run([sys.executable, "-c", program], check=True)
