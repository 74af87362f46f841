# One image for every process: `up` (everything, embedded database), `api`, `worker`, `migrate`.
FROM python:3.12-slim AS build
WORKDIR /build
COPY requirements requirements
RUN python -m venv /opt/waypost && /opt/waypost/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt -r requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/waypost/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home --shell /usr/sbin/nologin waypost
COPY --from=build /opt/waypost /opt/waypost
ENV PATH=/opt/waypost/bin:$PATH WAYPOST_DATA_DIR=/data WAYPOST_HOST=0.0.0.0 PYTHONUNBUFFERED=1
USER waypost
VOLUME /data
EXPOSE 8800
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
    python -c "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ.get('WAYPOST_PORT', '8800')}/healthz\", timeout=2)"
ENTRYPOINT ["waypost"]
CMD ["up"]
