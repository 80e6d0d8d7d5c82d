"""What the Helm charts that people use for vLLM make of their values, one module a chart."""
