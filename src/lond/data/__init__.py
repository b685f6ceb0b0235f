"""What comes in: sources, noise, benchmarks, views and batches."""
