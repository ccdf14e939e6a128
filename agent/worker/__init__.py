"""The only processes that touch a shared volume."""
