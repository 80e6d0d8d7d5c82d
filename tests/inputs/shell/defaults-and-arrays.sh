#!/usr/bin/env bash
set -euo pipefail
MODEL="${1:-org/model}"
TP=${TP:-4}
: "${PORT:=8001}"
ARGS=(
  --tensor-parallel-size "$TP"   # one GPU each
  --port "${PORT}"
  --served-model-name "a b" c
)
ARGS+=(--override-generation-config '{"temperature": 0.5}')
export VLLM_LOGGING_LEVEL=DEBUG
nohup vllm serve "$MODEL" "${ARGS[@]}" \
  --max-model-len 8k --api-key not-to-be-shown > server.log 2>&1 &
echo "vllm serve started"
