"""A JSON Schema of the `vllm serve --config` YAML of one release, for editors and CI."""

from scheduler_reader.config_schema.document import config_schema

__all__ = ["config_schema"]
