#!/bin/sh
# The seven simulated servers of sent.yaml, on ports 8101 to 8107; Ctrl-C ends them.
serve() { port=$1; shift; tidemark simulate --quiet --port $port --gpu H200 --catalog-model llama-3.1-70b --quantization fp8 --kv-cache-dtype fp8 --served-model-name llama "$@" & }
serve 8101 --max-num-batched-tokens 2048
serve 8102 --max-num-batched-tokens 2048 --max-num-seqs 8
serve 8103 --max-num-batched-tokens 2048 --max-num-seqs 16
serve 8104 --max-num-batched-tokens 1024
serve 8105 --max-num-batched-tokens 4096
serve 8106 --max-num-batched-tokens 2048 --gpu-memory-utilization 0.95
serve 8107 --max-num-batched-tokens 1024 --max-num-seqs 16 --gpu-memory-utilization 0.95
wait
