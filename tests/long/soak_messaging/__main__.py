"""`make soak-messaging ROUNDS=50`: the long runs about messaging, one after the other; exits with 0 if all pass.

`order` makes Key_Shared consumers join and leave under load; the others kill a broker in every round.
"""

import argparse
import subprocess
import sys

ROUNDED = ("dedup", "delayed", "batch_acks", "compaction", "rebalance", "transactions")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak-messaging", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", nargs="+", choices=["order", *ROUNDED], default=["order", *ROUNDED])
    options = parser.parse_args()
    failed = []
    for name in options.only:
        print(f"== {name}", flush=True)
        rounds = ["--rounds", str(options.rounds)] if name in ROUNDED else []
        if subprocess.run([sys.executable, "-m", f"tests.long.soak_messaging.{name}", *rounds], check=False).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all held")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
