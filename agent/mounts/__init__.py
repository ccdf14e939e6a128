"""Mounts: what is observed of them, what that means, what to do, and the keeper that does it."""
