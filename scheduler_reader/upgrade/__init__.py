"""What an upgrade of vLLM changes for one configuration that stays as it is.

`compare` takes the same engine read as two releases and says what differs; `rewrite` renames what
the later release calls otherwise, in the file itself.
"""
