# One image for the worker and the bot: the wheel's packages in an environment of their own, run by nobody in particular.
# Base images are pinned by exact tag; to pin by digest as well, see docs/configuration.md.

FROM python:3.12.12-slim-bookworm AS build
ENV UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy PIP_DISABLE_PIP_VERSION_CHECK=1
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
COPY pyproject.toml uv.lock README.md ./
# Dependencies change less often than the code: they are a layer of their own.
RUN uv sync --locked --no-install-project
COPY lessor lessor
COPY workflows workflows
COPY activities activities
COPY bot bot
COPY templates templates
COPY deploy deploy
RUN uv sync --locked --no-editable

FROM python:3.12.12-slim-bookworm
RUN groupadd --gid 10001 lessor \
    && useradd --uid 10001 --gid lessor --no-create-home --home-dir /var/lib/lessor --shell /usr/sbin/nologin lessor \
    && install --directory --owner=lessor --group=lessor --mode=0750 /var/lib/lessor
COPY --from=build /app/.venv /app/.venv
COPY deploy/docker/health.py /app/health.py
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    LESSOR_CONFIG=/etc/lessor/lessor.yaml \
    LESSOR_DATA=/var/lib/lessor
WORKDIR /var/lib/lessor
USER 10001:10001
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=4 CMD ["python", "/app/health.py", "worker"]
CMD ["python", "-m", "workflows"]
