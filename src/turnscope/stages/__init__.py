"""The jobs of the workflow, one thin module a rule; each can be typed by hand."""
