"""``reame doctor``: what this machine is, what was tried on it, and what follows."""
