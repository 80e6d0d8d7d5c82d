if [ "$SERVER" = vllm ]; then
  LIMIT=65536
  if [ "$SMALL" = 1 ]; then LIMIT=8192; fi
  COMMAND="
    HIP_VISIBLE_DEVICES=$GPU \
    vllm serve $MODEL \
      --max-num-seqs 64 \
      --max-num-batched-tokens $LIMIT \
      --kv-transfer-config '{\"kv_connector\": \"X\"}' 2>&1 | tee log &
  "
elif [ "$SERVER" = other ]; then
  COMMAND="other-server --model-repository models"
fi
eval "$COMMAND"
START="vllm serve org/first --max-num-seqs 16"
[ -n "$SECOND" ] && START="python3 -m vllm.entrypoints.openai.api_server --model org/second"
nohup $START --port 9000 &
bash -c "$START"
case "$X" in
  a) LAUNCH="vllm serve org/a --seed 1" ;;
  b) LAUNCH="vllm serve org/b --seed 2" ;;
esac
echo "$LAUNCH"
exec $LAUNCH
