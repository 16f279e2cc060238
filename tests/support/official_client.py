"""The official Python client without its log, which would go to stdout with the results."""

import os
from typing import Any

import pulsar


def connect(url: str, **options: Any) -> pulsar.Client:
    return pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull), **options)
