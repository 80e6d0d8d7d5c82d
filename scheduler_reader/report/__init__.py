"""What was found, for people and for machines: texts, pages and JSON of what the stages hand over."""
