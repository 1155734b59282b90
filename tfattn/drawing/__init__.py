"""Figures: colours, style, and SVG for files and pages."""
