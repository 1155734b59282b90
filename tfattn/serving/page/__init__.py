"""The page at /: its files, and the data that it shows beside the API's."""
