#!/usr/bin/env python3
"""Transfer a file over QUIC (aioquic, from PyPI) behind links with several schemes.

quic.py                         2 MB under pfifo, codel, fq_codel and cake
quic.py --aqm codel --bytes 100000
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import sys
import tempfile
import time
from pathlib import Path

PORT = 4433
PROTOCOL = "sojourn"


def certificate(folder: Path) -> None:
    """Write a key and a certificate for the host `server`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("server")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )


async def serve(folder: Path) -> None:
    """Answer a number with so many bytes."""
    from aioquic.asyncio import serve as serve_quic
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=False, alpn_protocols=[PROTOCOL])
    configuration.load_cert_chain(folder / "certificate.pem", folder / "key.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(int(await reader.read())))
        writer.write_eof()

    def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.ensure_future(answer(reader, writer)))

    tasks: list[asyncio.Future[None]] = []
    await serve_quic("::", PORT, configuration=configuration, stream_handler=handle)
    await asyncio.Event().wait()


async def fetch(folder: Path, size: int) -> float:
    """Fetch so many bytes, and return the time that it took with the handshake."""
    from aioquic.asyncio import connect
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=True, alpn_protocols=[PROTOCOL])
    configuration.load_verify_locations(str(folder / "certificate.pem"))
    start = time.monotonic()
    async with connect("server", PORT, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(str(size).encode())
        writer.write_eof()
        if len(await reader.read()) != size:
            raise SystemExit("the transfer is not complete")
    return time.monotonic() - start


def main() -> None:
    """Print a line for each scheme."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", action="append", help="a scheme, repeatable")
    parser.add_argument("--bytes", type=int, default=2_000_000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--fetch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve))
    elif options.fetch:
        print(json.dumps(asyncio.run(fetch(options.fetch, options.bytes))))
    else:
        import sojourn as sj

        with tempfile.TemporaryDirectory() as text:
            certificate(Path(text))
            for scheme in options.aqm or ("pfifo", "codel", "fq_codel", "cake"):
                with sj.emulate(down="20 Mbit/s", up="5 Mbit/s", rtt="40 ms", aqm=scheme) as lab:
                    lab.serve([sys.executable, __file__, "--serve", text])
                    fetched = ["--fetch", text, "--bytes", str(options.bytes)]
                    done = lab.run("client", [sys.executable, __file__, *fetched], timeout_s=300)
                    outcome = lab.finish()
                if done.returncode != 0:
                    raise SystemExit(done.stderr)
                delay = outcome.ways["down"].metrics["sojourn_ms_mean"]
                print(f"{scheme:10s} {json.loads(done.stdout):6.2f} s, mean queueing delay {delay:.1f} ms")


if __name__ == "__main__":
    main()
