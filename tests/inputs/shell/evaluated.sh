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

PARALLEL=(--tensor-parallel-size "$TP" --data-parallel-size 1)
if [ "$DP_ATTENTION" = true ]; then
  PARALLEL=(--tensor-parallel-size 1 --data-parallel-size "$TP")
fi
LENGTH="--max-model-len 4096"
[ "$LONG" = 1 ] && LENGTH="--max-model-len 8192"
if [ "$SHARED" = 1 ]; then MEMORY=(); else MEMORY=(--gpu-memory-utilization 0.9); fi
if [ "$EAGER" = 1 ]; then MORE=(--enforce-eager); fi
SEED=1
[ "$RANDOM" = 1 ] && SEED=2
vllm serve org/chat-12b "${PARALLEL[@]}" $LENGTH "${MEMORY[@]}" "${MORE[@]}" --seed "$SEED"
