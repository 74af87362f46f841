"""`python -m waypost.cli.supervisor`: what `waypost up` becomes."""

from waypost.bootstrap.process import leave_out_rich

if __name__ == "__main__":
    leave_out_rich()
    from waypost.cli.supervisor.up import main

    main()
