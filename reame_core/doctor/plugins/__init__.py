"""``reame plugins doctor``: what plugins there are, whether they get along, and what they cost and save."""
