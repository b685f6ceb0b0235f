"""Exact and near copies of images: within a set, with other labels, and between splits."""
