#!/usr/bin/env bash
# Start the chat server; everything before the image belongs to docker.
set -euo pipefail
TAG=${TAG:-v0.10.2}
ENGINE_ARGS="--max-num-seqs 48 --enable-chunked-prefill"
export VLLM_LOGGING_LEVEL=WARNING

docker pull vllm/vllm-openai:$TAG
docker rm -f chat || true
sudo docker run -d --restart unless-stopped --name chat \
  --gpus '"device=0,1"' --shm-size=16g -p 8000:8000 \
  -v "$HOME/models":/models -e HF_TOKEN="$HF_TOKEN" -e VLLM_LOGGING_LEVEL \
  --env VLLM_USE_V1=1 -eVLLM_PORT=8001 \
  vllm/vllm-openai:$TAG \
  --model /models/chat --tensor-parallel-size 2 $ENGINE_ARGS \
  --max-model-len "$MAX_LEN" # from the operator
docker logs -f chat
