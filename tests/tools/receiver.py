#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""receiver.py DIR [PEM]: an HTTP server that stores what `holdtrace push` sends. Writes its port to DIR/port,
and for each request DIR/N.path, DIR/N.headers and DIR/N.pprof, the profile of the body. The path
/denied answers 401, /slow does not answer for 5 s. With PEM, a certificate and its key, the server speaks TLS."""
import base64
import email.parser
import email.policy
import http.server
import json
import os
import ssl
import sys
import time

DIRECTORY = sys.argv[1]
COUNT = 0


def profile_of(path, kind, body):
    if path.endswith("/profiles/writeraw"):
        return base64.b64decode(json.loads(body)["series"][0]["samples"][0]["raw_profile"], validate=True)
    if not kind.startswith("multipart/form-data"):
        return body
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    part, = message.iter_parts()
    assert part.get_param("name", header="content-disposition") == "profile"
    return part.get_payload(decode=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global COUNT
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.split("?")[0]
        if path == "/slow":
            time.sleep(5)
        if path == "/denied":
            self.send_response(401)
            self.end_headers()
            self.wfile.write(b"who are you?\n")
            return
        COUNT += 1
        for end, content in (("path", self.path.encode()), ("headers", str(self.headers).encode()),
                             ("pprof", profile_of(path, self.headers["Content-Type"], body))):
            with open(os.path.join(DIRECTORY, f"{COUNT}.{end}"), "wb") as file:
                file.write(content)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
if len(sys.argv) > 2:
    CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CONTEXT.load_cert_chain(sys.argv[2])
    SERVER.socket = CONTEXT.wrap_socket(SERVER.socket, server_side=True)
with open(os.path.join(DIRECTORY, "port.new"), "w", encoding="ascii") as written:
    written.write(str(SERVER.server_address[1]))
os.rename(os.path.join(DIRECTORY, "port.new"), os.path.join(DIRECTORY, "port"))
SERVER.serve_forever()
