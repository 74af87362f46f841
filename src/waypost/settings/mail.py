"""Settings of mail: the servers it goes to, what it may carry, and mail that is submitted here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from waypost.settings import readers
from waypost.settings.readers import Secret
from waypost.settings.rows import About, Group


@dataclass(frozen=True, kw_only=True, slots=True)
class MailSettings:
    smtp_url: Annotated[
        Secret | None,
        About(
            Group.MAIL,
            readers.mail_url,
            "The server that live tenants send through: smtp://user:password@host:port, or smtps:// for TLS at once.",
            "the catch-all mailbox of `waypost up`",
        ),
    ] = None
    smtp_connections: Annotated[
        int, About(Group.MAIL, readers.whole(1, 500), "How many connections to one mail server a worker opens at most.")
    ] = 20
    attachment_bytes: Annotated[
        int, About(Group.MAIL, readers.whole(1_000, 25_000_000), "The largest file that may go along with a message.")
    ] = 10_485_760
    attachments_bytes: Annotated[
        int,
        About(Group.MAIL, readers.whole(1_000, 35_000_000), "The most that all files of a message may have together."),
    ] = 20_971_520
    dns_servers: Annotated[
        tuple[str, ...],
        About(
            Group.MAIL,
            readers.name_servers,
            "Addresses of the name servers that are asked about domains, separated by commas.",
            "those of this host",
        ),
    ] = ()
    spf_include: Annotated[
        str | None,
        About(Group.MAIL, readers.domain, "The name that tenants include in their SPF records.", "SPF is read only"),
    ] = None
    return_path_host: Annotated[
        str | None,
        About(Group.MAIL, readers.domain, "Where tenants' return-path domains lead.", "WAYPOST_MESSAGE_DOMAIN"),
    ] = None
    tracking_host: Annotated[
        str | None,
        About(Group.MAIL, readers.domain, "Where tenants' tracking domains lead.", "the host of WAYPOST_PUBLIC_URL"),
    ] = None
    smtp_ca_file: Annotated[
        Path | None,
        About(
            Group.MAIL,
            readers.path,
            "A file of authorities that sender accounts' mail servers may be certified by, in place of the system's.",
            "the system's",
        ),
    ] = None
    gmail_url: Annotated[
        str, About(Group.MAIL, readers.web_url, "Where Gmail's API is, for sender accounts of kind `gmail`.")
    ] = "https://gmail.googleapis.com"
    google_auth_url: Annotated[
        str, About(Group.MAIL, readers.web_url, "Where a Google service account's claim is exchanged for a token.")
    ] = "https://oauth2.googleapis.com/token"
    catchall_port: Annotated[
        int, About(Group.MAIL, readers.port, "The SMTP port of the catch-all mailbox; 0 takes any free one.")
    ] = 0
    message_domain: Annotated[str, About(Group.MAIL, readers.domain, "The domain in Message-ID and EHLO.")] = (
        "waypost.localhost"
    )
    default_from: Annotated[
        str, About(Group.MAIL, readers.mail_address, "The sender of a message that names none.")
    ] = "Waypost <hello@waypost.localhost>"

    smtp_in_port: Annotated[
        int | None,
        About(
            Group.SMTP_IN,
            readers.port,
            "The port on which software may submit mail, with STARTTLS where there is a certificate.",
            "none",
        ),
    ] = None
    smtp_in_tls_port: Annotated[
        int | None,
        About(Group.SMTP_IN, readers.port, "The same with TLS from the first byte.", "none"),
    ] = None
    smtp_in_host: Annotated[str, About(Group.SMTP_IN, readers.text, "The address that both listen on.")] = "127.0.0.1"
    smtp_in_certificate: Annotated[
        Path | None,
        About(
            Group.SMTP_IN,
            readers.path,
            "A PEM file with the certificate and its chain.",
            "only this machine may submit",
        ),
    ] = None
    smtp_in_key: Annotated[
        Path | None, About(Group.SMTP_IN, readers.path, "A PEM file with its key.", "in the certificate's file")
    ] = None
    smtp_in_bytes: Annotated[
        int, About(Group.SMTP_IN, readers.whole(65_536, 20_971_520), "How large a submitted mail may be.")
    ] = 10_485_760
    smtp_in_recipients: Annotated[
        int, About(Group.SMTP_IN, readers.whole(1, 1_000), "How many recipients a submitted mail may have.")
    ] = 100
    smtp_in_connections: Annotated[
        int, About(Group.SMTP_IN, readers.whole(1, 500), "How many connections one address may have open.")
    ] = 20
    smtp_in_metrics_port: Annotated[
        int | None,
        About(Group.SMTP_IN, readers.port, "The port of its /metrics; 0 takes any free one.", "the API's port + 4"),
    ] = None
