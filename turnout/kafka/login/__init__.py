"""The login to a Kafka: what people write in either client's spelling is read as one and written for each client."""
