"""`make bench`: figures of the agent against the native tools, measured in one run."""
