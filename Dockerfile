# RestGPT as a container: a LangGraph server, an MCP server or any command of `restgpt`, chosen by the command.
# How to build and run it, and what it needs, is in docs/servers.md.

FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
ENV PIP_CONSTRAINT=/src/constraints.txt \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
COPY LICENSE MANIFEST.in README.md constraints.txt pyproject.toml setup.py ./
COPY restgpt restgpt
COPY specs specs
COPY prompts prompts
COPY tools tools
COPY nodes nodes
COPY graph graph
COPY restgpt-functions restgpt-functions
# Wheels only, so that neither stage needs a compiler; forbiddenfruit has none, and is pure Python.
RUN pip install --constraint constraints.txt setuptools \
    && pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . ./restgpt-functions \
    && python -m venv --without-pip /opt/restgpt \
    && pip --python /opt/restgpt/bin/python install --only-binary :all: --no-binary forbiddenfruit \
        --constraint constraints.txt \
        "$(echo /wheels/restgpt-*.whl)[mcp,otel,postgres]" /wheels/restgpt_functions-*.whl 'langgraph-cli[inmem]'

FROM python:3.12.12-slim-bookworm
RUN groupadd --gid 10001 restgpt \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /state --shell /usr/sbin/nologin restgpt \
    && install --directory --owner=10001 --group=10001 --mode=700 /state
COPY --from=build /opt/restgpt /opt/restgpt
COPY langgraph.json /srv/restgpt/langgraph.json
ENV PATH=/opt/restgpt/bin:$PATH \
    HOME=/state \
    RESTGPT_HOME=/state \
    PYTHONUNBUFFERED=1 \
    LANGGRAPH_CLI_NO_ANALYTICS=1 \
    LANGGRAPH_NO_VERSION_CHECK=1 \
    LANGGRAPH_STRICT_MSGPACK=true \
    LANGSMITH_TRACING=false
USER 10001:10001
# apis.yaml, threads, tokens, recipes and the state of the server.
WORKDIR /state
VOLUME ["/state"]
EXPOSE 8000
# Any answer will do: a server that answers 401 or 404 is up.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/ok'); raise SystemExit(c.getresponse().status >= 500)"]
CMD ["langgraph", "dev", "--config", "/srv/restgpt/langgraph.json", "--host", "0.0.0.0", "--port", "8000", "--no-browser", "--no-reload", "--n-jobs-per-worker", "4"]
