"""Slow implementations of the paper's equations: plain loops in double precision, written from the paper."""
