"""Frozen networks: images turned into features once, kept by content, and learned from in place of pixels."""
