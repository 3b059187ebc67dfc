"""Exit code 0 if the Turnout of this container answers. Nothing is imported but Python's own modules: it runs often.

HEALTH_URL is for those who serve by TLS, or on another port: https://127.0.0.1:8400/healthz.
"""

import os
import ssl
import sys
import urllib.request

URL = os.environ.get("HEALTH_URL", "http://127.0.0.1:8400/healthz")
SECONDS = 4
"""Less than the HEALTHCHECK's own time-out, so that the reason is told."""

# It asks itself, by an address that is in no certificate, and tells nothing that is secret.
UNVERIFIED = ssl._create_unverified_context()
DIRECTLY = urllib.request.ProxyHandler({})

try:
    opener = urllib.request.build_opener(DIRECTLY, urllib.request.HTTPSHandler(context=UNVERIFIED))
    opener.open(URL, timeout=SECONDS).close()
except OSError as error:  # a refused connection, a time-out, a status of 400 and above
    sys.exit(f"{URL}: {error}")
