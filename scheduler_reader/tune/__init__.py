"""`tune`: search an engine's settings for an objective, and say what to change, in order.

A search (`search.py`) asks for points (`point.py`) in rounds; `sweep.py` has them evaluated, on
one core or on many machines, and `store.py` keeps them, so that an interrupted run goes on.
"""
