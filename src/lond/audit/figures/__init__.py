"""Figures of an audit; they need matplotlib (extra ``plots``)."""
