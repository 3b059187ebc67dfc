"""Ends a build whose class archives do not fit: Turnout would start all the same, more slowly, and say nothing."""

import os
import subprocess
import sys

from turnout.java import find_java, java_parts
from turnout.kafka.embedded import broker_archive
from turnout.pipeline.session import class_path, spark_archive

java, parts = find_java(), java_parts(print)
for archive, jars in (
    (broker_archive(java, parts.broker), parts.broker),
    (spark_archive(java, parts.spark), class_path(parts.spark)),
):
    if not archive.file.exists():
        sys.exit(f"{archive.file} is missing: its jars, their times or Java are not those that it was made with.")
    # With -Xshare:on a JVM that cannot use the archive does not start.
    command = [
        str(java.path),
        f"-XX:SharedArchiveFile={archive.file}",
        "-Xshare:on",
        "-cp",
        os.pathsep.join(map(str, jars)),
    ]
    subprocess.run([*command, "-version"], check=True)
    print(f"{archive.file} fits.")
