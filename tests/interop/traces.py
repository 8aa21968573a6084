"""A collector of OpenTelemetry traces that decodes by PyPI's opentelemetry-proto, and a demo that sends to it."""

import http.server
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span

# The trace and the span of the client.
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET, WALLET = "wr_secret_of_the_client", "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"

bodies = []
lock = threading.Lock()


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/traces", self.path
        assert self.headers["Content-Type"] == "application/x-protobuf", self.headers
        with lock:
            bodies.append(body)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def messages():
    with lock:
        return [ExportTraceServiceRequest.FromString(body) for body in bodies]


def spans_of(found):
    return [span for message in found for resource in message.resource_spans for scope in resource.scope_spans
            for span in scope.spans]


def attributes(span):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def ask(url):
    headers = {"Authorization": f"Bearer {SECRET}", "traceparent": f"00-{TRACE}-{PARENT}-01"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def wait_for(what, holds, seconds=60):
    ends = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < ends, f"waited too long for {what}"
        time.sleep(0.2)
    return found


def check(url, server):
    statuses = [ask(f"{url}/v1/blocks/7"), ask(f"{url}/v1/address/{WALLET}/overview?note=query_of_the_client")]
    # The last spans come when the server stops. 143 is what docs/operators.md says of SIGTERM.
    server.terminate()
    assert server.wait(30) == 143, server.returncode
    found = messages()
    names = [attributes(resource.resource).get("service.name") for m in found for resource in m.resource_spans]
    assert names and set(names) == {"cairn"}, names
    spans = [span for span in spans_of(found) if span.trace_id.hex() == TRACE]
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans), "ids are unique"
    roots = [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]
    assert [attributes(root)["http.response.status_code"] for root in roots] == statuses, (roots, statuses)
    for span in spans:
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
        if span in roots:
            assert span.parent_span_id.hex() == PARENT, span
            continue
        assert span.kind == Span.SPAN_KIND_INTERNAL and span.parent_span_id in by_id, span
        assert by_id[span.parent_span_id].start_time_unix_nano <= span.start_time_unix_nano, span
    assert any("{" in attributes(root).get("http.route", "") for root in roots), roots
    works = [span for span in spans if span.name == "work"]
    reads = 0
    for work in works:
        assert by_id[work.parent_span_id] in roots, work
        tables = [attributes(span) for span in spans if span.parent_span_id == work.span_id]
        assert sum(table["cairn.rows"] for table in tables) == attributes(work)["cairn.rows"], (work, tables)
        reads += len(tables)
    assert reads > 0 and {"admission", "queue"} <= {span.name for span in spans}, spans
    raw = b"".join(bodies)
    for hidden in [SECRET, WALLET, "query_of_the_client", "127.0.0.1", "/v1/blocks/7"]:
        assert hidden.encode() not in raw, hidden
    print(f"interop: traces: {len(roots)} requests, {len(spans)} spans, {reads} tables read")


def main():
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w+", encoding="utf-8") as log:
        endpoint = f"http://127.0.0.1:{collector.server_port}"
        command = [sys.argv[1], "demo", "--still", "--datadir", f"{folder}/demo", "--listen", "127.0.0.1:0",
                   "--otlp-endpoint", endpoint]
        server = subprocess.Popen(command, stdout=log, stderr=log)

        def served():
            assert server.poll() is None, "the demo has ended"
            with open(log.name, encoding="utf-8") as lines:
                return re.search(r'serving url="?(http://[0-9.:]+)', lines.read())

        try:
            check(wait_for("the demo", served)[1], server)
        finally:
            server.kill()


main()
