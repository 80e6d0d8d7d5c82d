variable "model_id" {
  type    = string
  default = "Qwen/Qwen3-8B"
}
variable "tag" { type = string }
locals {
  # served through the gateway
  common_args = ["--max-model-len", "8192", "--max-num-seqs", "64"]
}
resource "kubernetes_deployment" "vllm" {
  metadata { name = "vllm" }
  spec {
    replicas = 2
    template {
      spec {
        container {
          name    = "vllm"
          image   = "vllm/vllm-openai:v0.10.2"
          command = ["vllm", "serve", var.model_id]
          args    = concat(local.common_args, ["--gpu-memory-utilization=0.92", "--served-model-name", var.served])
          env {
            name  = "VLLM_LOGGING_LEVEL"
            value = "DEBUG"
          }
          env {
            name = "VLLM_API_KEY"
            value_from {
              secret_key_ref {
                name = "vllm"
                key  = "api-key"
              }
            }
          }
          resources {
            limits = { "nvidia.com/gpu" = 1 }
          }
        }
      }
    }
  }
}
resource "aws_ecs_task_definition" "vllm" {
  family = "vllm"
  container_definitions = jsonencode([
    {
      name      = "engine"
      image     = "vllm/vllm-openai:${var.tag}"
      essential = true
      command   = ["--model", "${var.model_id}", "--port", "8000", "--max-num-batched-tokens=4096"]
      environment = [{ name = "VLLM_USE_V1", value = "1" }]
    }
  ])
}
resource "google_compute_instance" "vm" {
  metadata_startup_script = <<-EOT
    #!/bin/bash
    TP=$${TP:-2}
    docker run --gpus all vllm/vllm-openai:v0.9.1 \
      --model ${var.model_id} --tensor-parallel-size $${TP}
  EOT
}
resource "helm_release" "stack" {
  values = [yamlencode({
    servingEngineSpec = {
      modelSpec = [{
        name = "a"
        repository = "vllm/vllm-openai"
        tag = "v0.11.0"
        modelURL = var.model_id
        vllmConfig = { maxModelLen = 4096, extraArgs = ["--enforce-eager"] }
      }]
    }
  })]
}
