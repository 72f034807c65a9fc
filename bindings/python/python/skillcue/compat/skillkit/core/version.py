"""The version that skillkit 0.4.0 reports of itself, which is not its own: programs compare with this one."""

__version__ = "0.3.0"
