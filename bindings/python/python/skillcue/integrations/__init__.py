"""Integrations, one module a framework. Each needs its framework, which an extra of the same name installs."""
