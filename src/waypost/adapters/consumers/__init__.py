"""Streams of other systems from which events are pulled: NATS JetStream and Redis Streams, each an optional extra."""
