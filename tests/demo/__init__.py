"""`make demo`: a real cluster, a real GPU host, real faults, told as they happen."""
