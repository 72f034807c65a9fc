#!/usr/bin/env python3
print("no fields")
