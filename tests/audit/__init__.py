"""An audit of the null distributions: structures drawn at random against oracles of their own."""
