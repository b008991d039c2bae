"""What acts: backends that sample from a model, and rules without one."""
