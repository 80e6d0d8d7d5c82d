# syntax=docker/dockerfile:1
ARG VLLM_TAG=v0.9.2
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS kernels
RUN pip install vllm==0.1.0
CMD ["vllm", "serve", "org/not-this-stage"]

FROM vllm/vllm-openai:${VLLM_TAG} AS base
ARG MODEL=org/base-model
ENV MODEL_ID=${MODEL} \
    # the engine of this release
    VLLM_USE_V1=1
ENV VLLM_CACHE_ROOT /var/cache/vllm
RUN <<EOF
apt-get update
CMD not an instruction
EOF

FROM base
EXPOSE 8000
HEALTHCHECK CMD curl -f localhost:8000/health
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]
CMD ["--model", "org/final", "--max-model-len", \
     "4096", "--port=$PORT", \
     "--speculative-config", "{\"method\": \"ngram\", \"num_speculative_tokens\": 2}"]
