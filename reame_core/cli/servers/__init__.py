"""The commands that read running servers: ``ps`` and ``stats``."""
