#!/bin/sh
# vllm serve org/commented-out
vllm bench serve --model org/client
