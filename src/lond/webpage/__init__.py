"""Parts that every HTML page of the package shares: skeleton, base style, content policy, safe text, pictures."""
