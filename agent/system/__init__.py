"""The host's edges: PID 1, /proc, FUSE's control files, child processes, the clocks."""
