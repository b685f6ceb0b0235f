"""Files: written whole or not at all, locked, and read with errors that name the file and the entry."""
