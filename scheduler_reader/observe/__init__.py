"""The observation stage: what /metrics, a load generator and a start-up log say of a running engine."""
