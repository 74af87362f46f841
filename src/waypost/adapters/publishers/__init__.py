"""Brokers that are told everything: NATS JetStream and Redis Streams, each an optional extra."""
