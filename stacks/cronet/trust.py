"""The one authority to trust, where Cronet looks for it on Linux: NSS's database in HOME."""

import os
import re
import subprocess
import tempfile

CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def private_home():
    """Gives this process a HOME of its own, so that no user's database is written to."""
    home = tempfile.TemporaryDirectory(prefix="cronet.")
    os.environ["HOME"] = home.name
    os.makedirs(database())
    certutil("-N", "--empty-password")
    return home


def trust(ca_file):
    """Trusts every certificate of the file to sign servers'."""
    with open(ca_file, "rb") as file:
        certificates = CERTIFICATE.findall(file.read())
    if not certificates:
        raise ValueError(f"{ca_file} holds no certificate")
    for place, certificate in enumerate(certificates):
        certutil("-A", "-a", "-n", f"{ca_file} {place}", "-t", "C,,", stdin=certificate)


def database():
    return os.path.join(os.environ["HOME"], ".pki", "nssdb")


def certutil(*arguments, stdin=b""):
    done = subprocess.run(["certutil", "-d", "sql:" + database(), *arguments], input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise ValueError(f"certutil {arguments[0]}: {done.stdout.decode(errors='replace').strip()}")
