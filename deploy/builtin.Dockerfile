# The built-in engine, for machines without a TF Serving image, and for its page, limits and tokens.
#   docker build -f deploy/builtin.Dockerfile -t tfattn .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -v "$PWD/saved_models:/models:ro" \
#     -p 127.0.0.1:8501:8501 -p 127.0.0.1:8500:8500 tfattn /models --set insecure=true
# It listens on all addresses of the container, so it requires a token unless insecure=true is set, as above.
# With a token: -v "$PWD/token:/run/secrets/token:ro" ... tfattn /models --set token_file=/run/secrets/token

FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

WORKDIR /opt/tfattn
ENV PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore

COPY requirements.lock .
RUN pip install --no-deps --require-hashes --requirement requirements.lock

COPY setup.py setup.cfg pyproject.toml README.md LICENSE ./
COPY configs configs
COPY pipelines pipelines
COPY tfattn tfattn
RUN pip install --no-deps --no-build-isolation .

# The user `nobody` has no home; libraries that need a home use /tmp.
USER 65534:65534
ENV HOME=/tmp
WORKDIR /
EXPOSE 8500 8501

HEALTHCHECK --start-period=5m --start-interval=2s --interval=10s --timeout=5s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/v1/health/ready', timeout=4)"]

ENTRYPOINT ["tfattn", "serve", "--engine", "builtin", "--set", "host=0.0.0.0"]
CMD ["/models"]
