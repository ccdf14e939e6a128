"""The cluster-wide UID/GID map: users and groups of the file exist on this host, as numbered."""
