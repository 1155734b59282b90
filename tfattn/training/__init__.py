"""Training: devices, steps, optimizers and schedules, checkpoints, and resuming after a stop."""
