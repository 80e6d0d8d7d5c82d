FROM vllm/vllm-openai:v0.11.0
CMD ["--model", "org/own", "--max-num-seqs", "8", "--no-enable-prefix-caching"]
