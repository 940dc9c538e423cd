"""Similar questions: what an embedding model and the guards of reame-arca take for the same."""
