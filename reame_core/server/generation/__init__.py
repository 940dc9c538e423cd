"""From a checked request to the engine and back: what happens between the JSON of both directions."""
