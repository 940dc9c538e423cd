"""All that is sent to servers: our own words, put together by seeded generators. The same seed, the same
texts."""
