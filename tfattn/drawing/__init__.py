"""How pictures are drawn: their colours, their style, and the SVG that a page or a file holds."""
