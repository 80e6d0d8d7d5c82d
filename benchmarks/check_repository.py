"""How long `check` takes for a repository of 2,000 YAML files of which 20 serve vLLM.

    python benchmarks/check_repository.py [ROUNDS]

Measured side by side: yaml.CSafeLoader loads the 20 and Python reads the rest as text.  The goal,
after start-up, is under 5 times that plus 10 ms for each engine.  CPU seconds of this process, so
that other work on the machine counts little; the figure is the median of the rounds.
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import yaml

from scheduler_reader.cli import main as sched_reader

FILES, SERVING = 2_000, 20
TIMES, SECONDS_OF_AN_ENGINE = 5, 0.010
MODELS = (
    *("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "meta-llama/Llama-3.3-70B-Instruct"),
    *("mistralai/Mistral-7B-Instruct-v0.3", "deepseek-ai/DeepSeek-R1"),
)
RELEASES = ("0.8.5", "0.10.2", "0.18.0", "0.33.0")
SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: llm-{number}}}
spec:
  replicas: 1
  template:
    spec:
      nodeSelector: {{nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v{release}
          args: ["--model={model}", "--tensor-parallel-size={ranks}", "--max-model-len=16384",
                 "--gpu-memory-utilization=0.92", "--max-num-seqs={seqs}", "--enable-chunked-prefill"]
          env: [{{name: VLLM_LOGGING_LEVEL, value: INFO}}]
          resources: {{limits: {{nvidia.com/gpu: "{ranks}", memory: 200Gi}}}}
          readinessProbe: {{httpGet: {{path: /health, port: 8000}}}}
"""
OTHER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{number}
  labels: {{app: service-{number}, team: payments}}
spec:
  replicas: {replicas}
  template:
    spec:
      containers:
        - name: web
          image: registry.example.com/shop/service-{number}:1.{number}.0
          args: ["--port=8080", "--log-level=info", "--workers={replicas}"]
          resources: {{limits: {{cpu: "2", memory: 1Gi}}}}
          readinessProbe: {{httpGet: {{path: /ready, port: 8080}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: service-{number}}}
spec: {{selector: {{app: service-{number}}}, ports: [{{port: 80, targetPort: 8080}}]}}
"""


def generate(root: Path) -> list[Path]:
    """Write the repository; returns the files that serve vLLM, one engine each."""
    serving = []
    for number in range(FILES):
        folder = root / f"team-{number % 40}"
        folder.mkdir(exist_ok=True)
        file = folder / f"{number}.yaml"
        if number % (FILES // SERVING) == 0:
            file.write_text(server(len(serving)))
            serving.append(file)
        else:
            file.write_text(OTHER.format(number=number, replicas=1 + number % 5))
    return serving


def server(number: int) -> str:
    return SERVER.format(
        number=number,
        release=RELEASES[number % len(RELEASES)],
        model=MODELS[number % len(MODELS)],
        ranks=2 ** (number % 4),
        seqs=32 * (1 + number % 7),
    )


def bare_seconds(root: Path, serving: list[Path]) -> float:
    """CPU time to load the serving files with libyaml and to read the rest as text."""
    wanted = set(serving)
    start = time.process_time()
    for file in root.rglob("*.yaml"):
        if file in wanted:
            for _ in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
                pass
        else:
            file.read_text()
    return time.process_time() - start


def check_seconds(root: Path) -> tuple[float, str]:
    """CPU time of one `check`, and its summary."""
    said = io.StringIO()
    start = time.process_time()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        try:
            sched_reader(["check", str(root), "--fail-on", "never"])
        except SystemExit as end:
            assert end.code == 0, said.getvalue()
    return time.process_time() - start, said.getvalue().strip().splitlines()[-1]


def main(rounds: int) -> None:
    """Print both times, the ratio, and the share of what the goal allows."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        serving = generate(root)
        check_seconds(root)  # start-up: modules, compiled data
        bare, checked = [], []
        for _ in range(rounds):
            bare.append(bare_seconds(root, serving))
            seconds, summary = check_seconds(root)
            checked.append(seconds)
    shares = [
        ours / (TIMES * theirs + SERVING * SECONDS_OF_AN_ENGINE)
        for ours, theirs in zip(checked, bare, strict=True)
    ]
    print(summary)
    print(f"libyaml and reading: {statistics.median(bare):.3f} s of CPU")
    print(f"check: {statistics.median(checked):.3f} s of CPU")
    ratio = statistics.median(c / b for c, b in zip(checked, bare, strict=True))
    print(f"ratio {ratio:.2f}; {statistics.median(shares):.0%} of what is allowed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
