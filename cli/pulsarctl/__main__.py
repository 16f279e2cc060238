"""`python -m pulsarctl`."""

from pulsarctl.main import main

main()
