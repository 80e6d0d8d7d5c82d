"""`python -m scheduler_reader`."""

from scheduler_reader.cli import main

if __name__ == "__main__":
    main()
