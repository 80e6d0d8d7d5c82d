"""Reads the `vllm serve` parser of one release from its source, without importing or running it.

`source` opens the wheel, `modules` finds what a name means, `interpreter` evaluates expressions and
runs the functions that build the parser over stand-ins, `options` puts what they register into the
form of `compat_matrix/flags.json`, and `ranges` extends that file by a release.
"""
