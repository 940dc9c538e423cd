"""Getting model files from a server: resumed, checked, once at a time, and in place only when they are whole.

``pull.pull`` is the whole of it; ``transfer`` fetches one file, ``web`` knows about servers and their moods.
"""
