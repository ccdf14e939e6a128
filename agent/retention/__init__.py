"""Which checkpoints may go: what frameworks write, what a policy keeps of it, and why."""
