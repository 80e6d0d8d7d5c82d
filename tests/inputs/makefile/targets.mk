# Targets that start servers, with variables of the file.
IMAGE ?= vllm/vllm-openai:v0.11.0
MODEL := org/chat-7b
NAME = $(MODEL)-fast  # what clients ask for
GPUS ?= $(shell nvidia-smi -L | wc -l)
ifdef LONG
LENGTH = 32768
else
LENGTH = 8192
endif

.PHONY: serve run
serve: deps
	@echo "serving $(MODEL)"
	@VLLM_LOGGING_LEVEL=DEBUG vllm serve $(MODEL) \
	  --served-model-name $(NAME) \
	  --max-model-len $(LENGTH) -tp $(GPUS) \
	  --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}' \
	  --download-dir $$HOME/models

run:
	docker run --gpus all -v $(PWD):/w \
	  $(IMAGE) --model $(MODEL) --max-num-seqs 16

test:
	curl localhost:8000/health

EXTRA = --enforce-eager --limit-mm-per-prompt '{"image": 2}'
EXTRA += --seed 1
more:
	vllm serve org/more $(EXTRA) $(UNSET)
