"""Input data: sources, noise, benchmarks, views and batches."""
