"""``python -m reame_core``."""

from reame_core.cli import main

if __name__ == "__main__":
    main()
