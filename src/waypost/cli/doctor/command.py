"""The command itself."""

from typing import Annotated

import typer

from waypost.cli.options import settable
from waypost.settings import Settings


@settable("api", "database", "mail", "smtp-in", "client")
def doctor(
    settings: Settings,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Check everything this installation stands on. Exit code 0 when nothing fails."""
    import asyncio

    from waypost.cli.dev_env import with_dev_env
    from waypost.cli.doctor.database import check_database
    from waypost.cli.doctor.domains import check_default_domain, check_domains
    from waypost.cli.doctor.findings import FAIL, Finding
    from waypost.cli.doctor.installation import check_installation
    from waypost.cli.doctor.network import check_api, check_mail
    from waypost.cli.show import Output
    from waypost.cli.supervisor import status

    known = with_dev_env(settings)
    running = status.read(known.data_dir)

    async def examine() -> list[Finding]:
        socket_directory = running.get("database_host")
        return [
            *check_installation(settings),
            *await check_database(known, socket_directory if isinstance(socket_directory, str) else None),
            *await check_mail(known, running),
            *await check_default_domain(known),
            *await check_api(known),
            *await check_domains(known),
        ]

    findings = asyncio.run(examine())
    output = Output(as_json=as_json)
    if as_json:
        output.many(findings, (), empty="")
    for one in () if as_json else findings:
        output.event({"result": f"{one.result:4}", "check": f"{one.check:18}", "said": one.said})
        if one.remedy:
            output.line(f"      {'':18}  → {one.remedy}")
    if any(finding.result == FAIL for finding in findings):
        raise typer.Exit(1)
