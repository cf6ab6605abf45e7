"""Trust for drivers of Chromium's network stack, which on Linux looks in the NSS database in HOME."""

import os
import re
import subprocess
import tempfile

from .errors import Failed

CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def private_home():
    """Gives this process a HOME of its own, so that no user's database is written to."""
    home = tempfile.TemporaryDirectory(prefix="home.", ignore_cleanup_errors=True)
    os.environ["HOME"] = home.name
    os.makedirs(database())
    certutil("-N", "--empty-password")
    return home


def trust(ca_file):
    """Trusts every certificate in the file to sign servers' certificates."""
    with open(ca_file, "rb") as file:
        certificates = CERTIFICATE.findall(file.read())
    if not certificates:
        raise Failed(f"{ca_file} holds no certificate")
    for index, certificate in enumerate(certificates):
        certutil("-A", "-a", "-n", f"{ca_file} {index}", "-t", "C,,", stdin=certificate)


def database():
    return os.path.join(os.environ["HOME"], ".pki", "nssdb")


def certutil(*arguments, stdin=b""):
    try:
        subprocess.run(["certutil", "-d", "sql:" + database(), *arguments], input=stdin, check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError as error:
        raise Failed("no certutil; on Debian: apt-get install libnss3-tools") from error
    except subprocess.CalledProcessError as error:
        output = error.stdout.decode(errors="replace").strip()
        raise Failed(f"certutil {arguments[0]}: {output}") from error
