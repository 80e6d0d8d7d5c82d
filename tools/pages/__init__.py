"""The generated pages of docs/, as texts by path."""
