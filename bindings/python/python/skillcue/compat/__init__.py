"""Packages of others, with Skillcue behind their interfaces: programs written for them change one import."""
