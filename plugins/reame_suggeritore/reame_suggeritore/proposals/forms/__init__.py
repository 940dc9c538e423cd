"""The forms that lines have: one small class each."""
