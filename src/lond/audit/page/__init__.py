"""The review page: one HTML file without network."""
