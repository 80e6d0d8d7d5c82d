"""What a rule, a flag or a term means: `explain.lookup` finds it, the other modules know it."""
