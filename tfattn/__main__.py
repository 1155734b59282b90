"""`python -m tfattn`."""

from tfattn.cli import main

if __name__ == "__main__":
    main()
