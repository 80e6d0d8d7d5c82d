"""What is known of vLLM, GPUs and models: `compat_matrix/` as typed records, read on demand."""
