"""gluster-ml-agent: keeps the GlusterFS mounts of a GPU host alive, and tells the truth."""

__version__ = "0.1.0"
