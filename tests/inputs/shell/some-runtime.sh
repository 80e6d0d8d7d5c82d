#!/bin/bash
# The runtime and some of its options are found out when the script runs.
ENGINE="${RUNTIME:-$(detect_engine)}"
OPTIONS=()
[ "$ROOTLESS" = 1 ] && OPTIONS+=(--security-opt label=disable)
start() {
  local image="docker.io/vllm/vllm-openai-cpu:$1"
  "$ENGINE" run -d "${OPTIONS[@]+"${OPTIONS[@]}"}" -p 8000:8000 \
    -e VLLM_CPU_KVCACHE_SPACE=2 "$image" org/chat-1b --max-model-len 2048
}
"$TASK" run -d nightly
