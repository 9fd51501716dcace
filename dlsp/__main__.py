"""`python -m dlsp` is `dlsp`."""

import sys

from dlsp.cli import main

sys.exit(main())
