"""Shared parts of all HTML pages: skeleton, base style, content security policy, escaped text, images."""
