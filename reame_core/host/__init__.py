"""The machine this process runs on: processors, memory, and what has been measured here before."""
