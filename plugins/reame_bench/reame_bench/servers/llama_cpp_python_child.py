"""``python -m llama_cpp.server`` without extra weight buffers."""

from __future__ import annotations

import runpy

from llama_cpp import llama_cpp

_defaults = llama_cpp.llama_model_default_params


def _plain() -> llama_cpp.llama_model_params:
    parameters = _defaults()
    parameters.use_extra_bufts = False
    return parameters


if __name__ == "__main__":
    llama_cpp.llama_model_default_params = _plain
    runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
