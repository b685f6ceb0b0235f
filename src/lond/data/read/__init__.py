"""Readers: one module for each form that images and labels come in."""
