"""The agent skill: how an agent reads a vLLM configuration with this tool, as one file or a folder."""
