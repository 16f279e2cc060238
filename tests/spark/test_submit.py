"""The equivalent `spark-submit` command."""

from pulsarctl.settings.settings import without_secrets
from pulsarctl.spark.submit import spark_submit


def test_the_command_passes_everything_but_its_own_option() -> None:
    command = spark_submit(
        ["ops", "backlog", "shop/*", "--spark-submit"],
        main="/lib/pulsarctl/__main__.py",
        master="spark://host:7077",
        settings={"spark.executor.memory": "4g"},
    )
    assert command == (
        "spark-submit --master spark://host:7077 --conf spark.executor.memory=4g "
        "/lib/pulsarctl/__main__.py ops backlog 'shop/*'"
    )


def test_a_token_is_not_shown() -> None:
    shown = without_secrets(["--token", "secret", "--auth-params=secret", "ops", "backlog", "t"])
    assert shown == ["--token", "***", "--auth-params=***", "ops", "backlog", "t"]
