resource "helm_release" "vllm" {
  # serves vllm/vllm-openai:v0.10.0
  values = [templatefile("${path.module}/values.yaml", { model = var.model })]
}
