vllm serve org/model --sequence-parallel-shards 8 --enable-swift-mode \
  --kv_cache-dtype=fp8 --enable-chunked-prefill=false --max-num-batched-token 4K \
  --x.y.z 1.5 --x.y.list+ a,b -O3 '--quantization fp8' --disable-log-requests
