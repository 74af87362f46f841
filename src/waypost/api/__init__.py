"""The HTTP surface: parse, call one use case, format."""
