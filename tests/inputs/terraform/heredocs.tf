variable "max_len" { default = 16384 }

resource "kubectl_manifest" "engine" {
  yaml_body = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: engine}
    spec:
      template:
        spec:
          containers:
            - name: vllm
              image: vllm/vllm-openai:${var.vllm_tag}
              args:
                - --model=Qwen/Qwen3-8B
                - --max-model-len=${var.max_len}
                - --served-model-name=${var.name}
  YAML
}

resource "helm_release" "stack" {
  values = [<<EOF
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: ${local.model}
      vllmConfig:
        maxNumSeqs: 64
EOF
  ]
}

locals {
  model = "Qwen/Qwen3-14B"
}
