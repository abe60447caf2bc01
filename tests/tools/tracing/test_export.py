"""Guards the export of traces by the command line: one environment variable is enough, and none means no export."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Handler, Server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from lab.kit.port import held_port
from restgpt.tools.settings.environment import exports_traces


class Collector:
    """A collector of OpenTelemetry on loopback that keeps what it gets."""

    def __init__(self) -> None:
        received: list[tuple[str, bytes]] = []

        class Traces(Handler):
            def do_POST(self) -> None:
                received.append((self.path, self.body()))
                self.answer(b"")

        self.received = received
        self._server = Server(Traces)
        self.url = self._server.url

    def __enter__(self) -> "Collector":
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.__exit__()

    def requests(self) -> list[ExportTraceServiceRequest]:
        assert {path for path, _ in self.received} <= {"/v1/traces"}
        return [ExportTraceServiceRequest.FromString(body) for _, body in self.received]


def demo(home: Path, *before: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [*before, str(Path(sys.executable).with_name("restgpt")), "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env={**kept, "RESTGPT_HOME": str(home), **environment},
    )


@pytest.mark.slow
def test_one_variable_exports_the_traces_of_a_command(tmp_path: Path) -> None:
    with Collector() as collector:
        done = demo(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_RESOURCE_ATTRIBUTES="team=blue")
    assert done.returncode == 0, done.stderr
    assert_runs_of_the_demo(collector)


@pytest.mark.slow
def test_a_provider_that_a_process_has_already_is_kept(tmp_path: Path) -> None:
    exported = {"OTLP_ENDPOINT": "", "OTLP_PROTOCOL": "http/protobuf"}
    others = {"OTEL_LOGS_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_SERVICE_NAME": "restgpt"}
    instrumented = str(Path(sys.executable).with_name("opentelemetry-instrument"))
    with Collector() as collector:
        kept = {f"OTEL_EXPORTER_{name}": value or collector.url for name, value in exported.items()}
        done = demo(tmp_path, instrumented, **kept, **others, OTEL_RESOURCE_ATTRIBUTES="team=blue")
    assert done.returncode == 0, done.stderr
    assert "Overriding" not in done.stderr
    assert_runs_of_the_demo(collector)


def assert_runs_of_the_demo(collector: Collector) -> None:
    groups = [group for request in collector.requests() for group in request.resource_spans]
    about = {item.key: item.value.string_value for group in groups for item in group.resource.attributes}
    assert (about["service.name"], about["team"]) == ("restgpt", "blue")
    spans = [span for group in groups for scope in group.scope_spans for span in scope.spans]
    runs = [span for span in spans if span.name == "invoke_agent RestGPT"]
    assert [span.name for span in spans if not span.parent_span_id] == [span.name for span in runs]
    # Of the three instructions two are paused, and resumed as another run.
    assert len({span.trace_id for span in spans}) == len(runs) == 5


@pytest.mark.slow
def test_a_command_works_although_its_collector_is_down(tmp_path: Path) -> None:
    with held_port() as port:
        done = demo(
            tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT="1"
        )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_traces_are_exported_only_to_a_collector_that_the_user_named() -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}
    assert exports_traces(named)
    assert exports_traces({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"})
    assert not exports_traces({})
    assert not exports_traces({**named, "OTEL_SDK_DISABLED": "true"})
    assert not exports_traces({**named, "OTEL_TRACES_EXPORTER": "none"})
