#!/bin/sh
# Serves a version of vLLM at port 8000 until it gets SIGTERM: the SERVE of gate.sh.
exec docker run --rm --init --gpus all --network host --volume "$HOME/.cache/huggingface:/root/.cache/huggingface" \
	"vllm/vllm-openai:$1" --model meta-llama/Llama-3.1-8B-Instruct --served-model-name llama --port 8000
