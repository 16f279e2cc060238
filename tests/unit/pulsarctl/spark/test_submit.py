"""The equivalent `spark-submit` command."""

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
