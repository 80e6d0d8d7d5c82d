"""Figures that are quoted everywhere, recomputed by the stages that read a configuration."""
