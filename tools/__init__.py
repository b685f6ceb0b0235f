"""What writes this repository's own documentation; not part of the package."""
