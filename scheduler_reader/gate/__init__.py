"""What the findings mean for a gate: severities, suppressions, the baseline and the policy."""
