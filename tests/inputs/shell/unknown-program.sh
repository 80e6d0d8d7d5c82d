if [ -x /opt/new/bin/vllm ]; then VLLM_BIN=/opt/new/bin/vllm; else VLLM_BIN=/opt/old/bin/vllm; fi
exec env VLLM_PORT=9000 "$VLLM_BIN" serve org/by-name --max-num-seqs 16
"$VENV/bin/vllm" serve org/by-end --max-num-seqs 32
"$(command -v vllm)" serve org/found --max-num-seqs 64
"$SOURCES/vllm/entrypoints/openai/api_server.py" --model org/module --max-num-seqs 128
"$OTHER" serve org/no-engine --host 0.0.0.0
