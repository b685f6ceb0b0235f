"""From an audit's table and a person's decisions to a corrected set."""
