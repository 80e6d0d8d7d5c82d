podman run --rm -it --device nvidia.com/gpu=all --security-opt=label=disable \
  quay.io/mirror/vllm-openai:0.8.5.post1 --model org/podman --seed 1
docker run --gpus all --entrypoint vllm vllm/vllm-openai:v0.12.0 serve org/entry --seed 2
docker run --gpus=all --ipc host rocm/vllm:rocm6.4.1_vllm_0.9.1_20250715 \
  bash -lc "export VLLM_ROCM_USE_AITER=1 && vllm serve org/rocm \
    --compilation-config '{\"full_cuda_graph\": true}'"
docker run --gpus all --entrypoint /bin/bash lmcache/vllm-openai:v0.3.2 -c \
  'exec vllm serve "$0" "$@"' org/passed --seed 4
nerdctl run nvcr.io/nvidia/vllm:25.09-py3 vllm serve org/nvidia --seed 5
docker run $EXTRA_OPTIONS vllm/vllm-openai:latest org/plain --seed 6
docker run -it vllm/vllm-openai:v0.11.0 --entrypoint bash
docker run -it rocm/vllm-dev:main bash
docker exec chat curl localhost:8000/health
srun --container-image=vllm/vllm-openai:v0.9.2 vllm serve org/slurm
