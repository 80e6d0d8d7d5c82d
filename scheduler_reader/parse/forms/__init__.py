"""One module a form of input: `matches` says whether a file has it, `read` makes engines of it."""
