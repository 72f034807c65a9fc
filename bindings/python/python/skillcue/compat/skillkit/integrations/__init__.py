"""Adapters to frameworks. Each is imported by itself and needs that framework."""

__all__: list[str] = []
