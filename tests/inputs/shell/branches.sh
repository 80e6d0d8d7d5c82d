TP=8
EXTRA="--enable-expert-parallel"
if [[ "$GPU" == h100 && -n "$FP8" ]]; then
  EXTRA="$EXTRA --quantization fp8"
  TP=4
fi
[ -n "$DEBUG" ] && EXTRA+=" --enforce-eager"
case "$ROLE" in
  prefill | both)
    vllm serve org/model -tp $TP $EXTRA --max-num-seqs 16 ;;
  *)
    python3 -m vllm.entrypoints.openai.api_server --model org/model --max-num-seqs 256 $MORE
    ;;
esac
for n in 1 2; do vllm serve org/loop --seed $n; done
