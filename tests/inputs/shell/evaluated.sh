#!/bin/bash
# Text that `eval` reads again, arrays that grow in branches, and splices of unknown length.
MODEL="org/chat-7b"
CMD="python -m vllm.entrypoints.openai.api_server --model \"$MODEL\" \
  --limit-mm-per-prompt '{\"image\": 5, \"video\": 1}' --port $PORT"
if [ "$SMALL" = 1 ]; then
  CMD="$CMD --kv-cache-dtype $KV_DTYPE"
fi
eval $CMD > server.log 2>&1 &

ARGS=()
if [ "$EAGER" = 1 ]; then
  ARGS+=(--enforce-eager)
fi
vllm serve org/chat-8b "${ARGS[@]}" --max-num-seqs 8

LINES=()
while IFS= read -r line; do
  read -ra PARTS <<< "$line"
  LINES+=("${PARTS[@]}")
done < options.txt
vllm serve --block-size 32 "${LINES[@]}"
vllm serve "${OPTIONS[@]}" org/chat-9b
eval "vllm serve org/chat-10b --max-num-seqs 4"
eval "exec vllm serve org/chat-11b \
  --served-model-name chat \
  ${MORE} --port 8001"
