"""A test bench: processes killed, files damaged, disks full; a stored result says what was tried and what happened."""
