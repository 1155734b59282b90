"""Which models there are on the disk, and the versions of them that are served."""
