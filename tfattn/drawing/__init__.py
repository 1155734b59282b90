"""The drawing of figures: their colours, their style, and SVG for files and pages."""
