__version__ = version = "9.1.0+cu130"
