"""Pictures that are odd in themselves: dark, blurred or of another shape than the rest of their set."""
