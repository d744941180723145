"""Searches modules for something that could be handed in as the answer to an exercise, or nearly so.

`recording` records the calls that tests make of right answers; `reachable` lists what a module holds; `passing` passes
a call's arguments to a callable; `agreement` compares results; `search` tries everything on everything.
"""
