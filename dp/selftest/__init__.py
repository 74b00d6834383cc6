"""The self-test: an audit of the noise that anyone can run on their own installation."""
