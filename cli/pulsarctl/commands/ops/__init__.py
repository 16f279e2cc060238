"""`pulsarctl ops`: large jobs, in this process or on Spark."""

from pulsarctl.commands.ops.backlog import install_backlog
from pulsarctl.commands.ops.compact import install_compact
from pulsarctl.commands.ops.export import install_export
from pulsarctl.commands.ops.importing import install_import
from pulsarctl.commands.ops.lake import install_lake
from pulsarctl.commands.ops.profiling import install_profile
from pulsarctl.commands.ops.replay import install_replay
from pulsarctl.commands.ops.shell import install_shell
from pulsarctl.commands.ops.sql import install_sql
from pulsarctl.commands.ops.tiered import install_tiered
from pulsarctl.commands.ops.verify import install_verify
from pulsarctl.shell.grammar import Noun

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
