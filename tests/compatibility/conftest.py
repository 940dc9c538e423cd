"""What was frozen is run by ``test_previous_releases.py``, not collected."""

collect_ignore_glob = ["[0-9]*"]
