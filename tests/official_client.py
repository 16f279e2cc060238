"""The official Python client without its log, which would go to stdout with the results."""

import os

import pulsar


def connect(url: str) -> pulsar.Client:
    return pulsar.Client(url, logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))
