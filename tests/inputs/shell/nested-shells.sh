pip install "vllm==0.11.0"
cat > later.sh <<EOF
vllm serve org/not-run
EOF
CMD="vllm serve org/variable --max-num-seqs 32"
exec $CMD &
bash -c "VLLM_USE_V1=1 vllm serve org/inner --kv-transfer-config '{\"kv_connector\": \"X\"}'"
ssh node1 'cd /srv && vllm serve org/remote --enforce-eager'
eval "vllm serve org/evaluated --seed 3"
env VLLM_PORT=9000 vllm serve org/env || exit 1
bash <<'EOF'
vllm serve org/here
EOF
vllm bench serve --model org/client
