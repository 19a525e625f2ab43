# oodometer in a container: the command line with the HTML report, as a user without rights.
#
#   docker build -t oodometer .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" oodometer estimate reference.parquet target.parquet
#
# Other extras: docker build --build-arg EXTRAS=report,hf -t oodometer .
ARG PYTHON=3.12

# The passes in C are compiled here, so that the image that is kept needs no compiler.
FROM python:${PYTHON}-slim AS build
# Any compiler of the base image will do, and pinned versions leave Debian's archive.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
ARG EXTRAS=report
RUN python -m venv /opt/oodometer \
    && /opt/oodometer/bin/pip install --no-cache-dir ".[${EXTRAS}]" \
    && /opt/oodometer/bin/python -c "import sys; from oodometer.kernels.threads import is_compiled; sys.exit(not is_compiled())"

FROM python:${PYTHON}-slim
COPY --from=build /opt/oodometer /opt/oodometer
# What is learnt from a reference is kept between commands of one container; mount a volume here to keep it longer.
RUN useradd --create-home --uid 1000 oodometer \
    && install --directory --owner=oodometer --mode=1777 /data /cache
ENV PATH=/opt/oodometer/bin:$PATH \
    OODOMETER_CACHE=/cache \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp
USER 1000:1000
WORKDIR /data
ENTRYPOINT ["oodometer"]
CMD ["--help"]
