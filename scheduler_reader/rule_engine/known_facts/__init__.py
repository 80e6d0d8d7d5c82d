"""The facts a rule can name: one function each.

A public function of these modules is a fact.  Its name is what rules write, its return annotation
the type, its docstring the meaning that `explain` and the rule documentation print.  It takes the
`Sources` and returns the value, or `Unknown` with the reason.  Facts are computed when a rule asks.
"""
