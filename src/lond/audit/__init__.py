"""What a person gets: a table and a page about every image of a doubtful set, and the corrected set."""
