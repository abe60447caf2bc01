"""The export of traces for processes that RestGPT starts itself: the command line and its servers.

A host that imports RestGPT, and a LangGraph server, set a provider of OpenTelemetry themselves.
"""

import logging
import sys
from importlib.util import find_spec

from restgpt.tools.extras import extra_command
from restgpt.tools.settings.environment import exports_traces
from restgpt.tools.tracing.span import tracer

log = logging.getLogger("restgpt.tracing")

MISSING = "No traces are exported, because the packages of OpenTelemetry are missing. Run: %s"


def export_traces() -> None:
    """Send the spans of this process by OTLP over HTTP, if the environment names a collector.

    A provider that the process has already is kept. The packages are imported only here. Spans that were not sent yet
    are sent when the process ends.
    """
    if not exports_traces() or tracer() is not None:
        return
    if not all(_is_installed(name) for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")):
        log.warning(MISSING, extra_command("otel"))
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # The user's own name of the service, in OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES, comes last.
    resource = Resource.create({"service.name": "restgpt"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _is_installed(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ModuleNotFoundError:
        # A parent package is missing.
        return False
