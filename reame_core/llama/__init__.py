"""The llama.cpp backend. Only ``bindings`` imports llama-cpp-python."""
