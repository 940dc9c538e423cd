"""Measurements of the disk cache, as ratios within one run."""
