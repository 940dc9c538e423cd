"""``reame bench --profile``: where the time of a token goes."""
