__version__ = "2.21.0"
