"""Which features go together in a release, as vLLM documents it and as its code does it."""
