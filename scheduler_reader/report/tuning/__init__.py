"""Reports of `tune`: for a terminal, for machines, and the front as a picture."""
