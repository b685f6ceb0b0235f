"""How much is wrong: estimated rates of wrong labels and foreign images, with intervals."""
