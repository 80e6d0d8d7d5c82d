FROM vllm/vllm-openai:v0.11.0
COPY start.sh /start.sh
ENTRYPOINT ["/start.sh"]
