"""`turnout samples`: made-up rows for a Kafka that somebody else runs, until Ctrl-C."""

import threading

from turnout.commands.options import ConfigFile, load_config
from turnout.commands.running import Kafka


def samples(config: ConfigFile = None, kafka: Kafka = None) -> None:
    """Send sample data to a Kafka of yours.

    Creates the control topic and two pairs of data topics where they do not exist (those of the configuration, and
    the same with _b at the end), and sends made-up rows to both pairs. For a Kafka to try things out on: a topic that
    is there already gets these rows too.

    Ctrl-C or SIGTERM ends it (exit code 0).

    - `turnout samples -c turnout.yaml`
    - `turnout samples --kafka localhost:9092`
    """
    settings = load_config(config, {"kafka.bootstrap.servers": kafka})
    from turnout.demo import Producers, create_topics, topic_pairs
    from turnout.ending import Ending
    from turnout.terminal import Terminal

    terminal = Terminal()
    with Ending(terminal.stopping) as ending:
        terminal.listen()
        create_topics(settings)
        producers = Producers(settings)
        ending.callback(producers.stop)
        producers.start()
        topics = ", ".join(topic for pair in topic_pairs(settings) for topic in (pair.left, pair.right))
        terminal.say(f"Sending samples to {topics} on {settings.kafka['bootstrap.servers']} (Ctrl-C ends it)")
        threading.Event().wait()
