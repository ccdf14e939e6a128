"""The configuration file: its schema, how it is loaded, compared and watched."""
