"""`python -m waypost.cli.supervisor`: what `waypost up` becomes."""

import signal

from waypost.bootstrap.process import leave_out_unused

if __name__ == "__main__":
    # Until there is something to undo, Ctrl-C simply ends it, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    leave_out_unused()
    from waypost.cli.supervisor.up import main

    main()
