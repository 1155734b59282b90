"""How a task learns: where it runs, how weights change and when, what is kept, and how it goes on after a stop."""
