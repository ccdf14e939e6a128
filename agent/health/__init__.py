"""Health as others see it: journal, sd_notify, status.json, and text for people."""
