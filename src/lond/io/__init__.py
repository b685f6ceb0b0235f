"""File access: atomic writes, locks, and reads whose errors name the file and the entry."""
