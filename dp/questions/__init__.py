"""Questions: what can be asked, each with its sensitivity and how that follows."""
