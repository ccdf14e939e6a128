"""Frozen facts, verdicts and status: the words that all parts of the agent share.

Times called `*_at` or `now` are seconds of the monotonic clock; `since` and `time` are seconds of
the wall clock (epoch). Sizes are bytes.
"""
