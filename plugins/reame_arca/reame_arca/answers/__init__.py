"""L1: whole answers, given once and shared by all servers."""
