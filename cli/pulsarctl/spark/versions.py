"""What the installed PySpark can do."""

import pyspark

from pulsarctl.errors import CliError

STREAMING_SINCE = (4, 2)


def require_streaming() -> None:
    """Limits of a micro-batch, `Trigger.AvailableNow`, and lag came with PySpark 4.2."""
    installed = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if installed < STREAMING_SINCE:
        raise CliError(
            f"streams of topics need PySpark 4.2 or newer, and this is {pyspark.__version__}",
            hint="run pip install 'pyspark>=4.2', or read in batches with spark.read",
        )
