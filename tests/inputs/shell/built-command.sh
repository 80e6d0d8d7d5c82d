#!/bin/bash
# The command grows in a variable; what a branch adds is possible, not certain.
CMD="vllm serve org/built \
  --max-num-seqs 16 --max-model-len $LEN"
if [ "$OFFLOAD" -gt 0 ] 2>/dev/null; then
  CMD="$CMD --cpu-offload-gb $OFFLOAD"
fi
if [ -n "$MORE" ]; then
  CMD="$CMD $MORE"
fi
echo "Running: $CMD"
exec $CMD

set -- org/set --seed 5 --hf-overrides "{\"a\": \"b c\"}"
vllm serve "$@"
bash -c 'exec vllm serve "$1" --port "$0" "${@:2}"' 8001 org/numbered --seed 6
