"""`pulsarctl ops`: large jobs, in this process or on Spark."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.compacting import install_compact
from pulsarctl.verbs.counting_backlog import install_backlog
from pulsarctl.verbs.exporting import install_export
from pulsarctl.verbs.importing import install_import
from pulsarctl.verbs.lake import install_lake
from pulsarctl.verbs.profiling import install_profile
from pulsarctl.verbs.querying import install_sql
from pulsarctl.verbs.replaying import install_replay
from pulsarctl.verbs.spark_shell import install_shell
from pulsarctl.verbs.tiered import install_tiered
from pulsarctl.verbs.verifying import install_verify

app = Noun("ops", "Run large jobs, in this process or on Spark, and move ledgers to tiered storage.")
install_tiered(app)
install_lake(app)
install_export(app)
install_import(app)
install_replay(app)
install_compact(app)
install_sql(app)
install_profile(app)
install_shell(app)
install_verify(app)
install_backlog(app)
