"""What is wrong between here and a Kafka, in words from which a person can mend it. `turnout check` shows it.

librdkafka has one text for many reasons. So each step on the way to a broker is taken by itself: name, connection, TLS,
token. The login is then the client's own.
"""
