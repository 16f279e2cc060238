"""The paths of the pages, the files, and the forms of the console. Imports nothing: the routes need no pages."""

from __future__ import annotations

HOME = "/"
BASE = "/console"
STYLE, SCRIPT, ICON = f"{BASE}/console.css", f"{BASE}/console.js", f"{BASE}/icon.svg"
NAMESPACES, TOPICS, BACKLOGS = f"{BASE}/namespaces", f"{BASE}/topics", f"{BASE}/backlogs"
TOPIC, SUBSCRIPTION, MESSAGES = f"{BASE}/topic", f"{BASE}/subscription", f"{BASE}/messages"
SCALABLE_TOPICS, SCALABLE_TOPIC = f"{BASE}/scalable-topics", f"{BASE}/scalable-topic"
SAMPLE, ACTION, TRANSACTIONS = f"{BASE}/sample", f"{BASE}/action", f"{BASE}/transactions"
SIGN_IN, SIGN_OUT = f"{BASE}/sign-in", f"{BASE}/sign-out"
