"""What is asked of all systems, a module for each kind of question."""
