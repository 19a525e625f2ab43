#!/bin/sh
# Makes one virtual environment for each peer under $OODOMETER_BENCH_DIR/envs (default: <temporary folder>/oodometer-bench/envs).
# Usage: benchmarks/peers/make_envs.sh [nannyml] [netcal] [torchmetrics] [torch-uncertainty]     (default: these)
# The peers of docs/guides/coming_from.md besides NannyML: evidently, cleanlab, mapie.
# PYTHON names the interpreter; pip's own PIP_* variables choose the index (torch: the CPU build is enough).
set -eu

python=${PYTHON:-python3}
home=${OODOMETER_BENCH_DIR:-$("$python" -c 'import tempfile; print(tempfile.gettempdir())')/oodometer-bench}/envs
mkdir -p "$home"

make_env() { # name, module to import as a check, then the pip arguments of each install step, one step an argument
    name=$1 check=$2
    shift 2
    if [ -x "$home/$name/bin/python" ] && (cd "$home" && "$name/bin/python" -c "$check") 2>/dev/null; then
        echo "$name: there"
        return
    fi
    echo "$name: installing"
    rm -rf "${home:?}/$name"
    "$python" -m venv "$home/$name"
    for step in "$@"; do
        # shellcheck disable=SC2086  # a step is several words
        "$home/$name/bin/python" -m pip install --quiet --disable-pip-version-check $step
    done
    (cd "$home" && "$name/bin/python" -c "$check")
}

[ $# -gt 0 ] || set -- nannyml netcal torchmetrics torch-uncertainty
for peer in "$@"; do
    case $peer in
        nannyml) # imports statsmodels without declaring it
            make_env nannyml "import nannyml" "nannyml==0.13.1 statsmodels" ;;
        netcal)
            make_env netcal "import netcal.metrics" "torch==2.13.0 netcal==1.4.0" ;;
        torchmetrics)
            make_env torchmetrics "import torchmetrics" "torch==2.13.0 torchmetrics==1.9.0 numpy" ;;
        torch-uncertainty) # without its dependencies: torchvision is not needed for its metrics, see jobs.py
            make_env torch-uncertainty "import torchmetrics, matplotlib" \
                "torch==2.13.0 torchmetrics==1.9.0 matplotlib numpy" "--no-deps torch-uncertainty==0.13.0" ;;
        evidently)
            make_env evidently "import evidently" "evidently==0.7.23 pandas<3" ;;
        cleanlab)
            make_env cleanlab "import cleanlab" "cleanlab==2.9.0 pandas" ;;
        mapie)
            make_env mapie "import mapie" "mapie==1.6.0 pandas" ;;
        *)
            echo "make_envs.sh: no peer named $peer" >&2
            exit 2 ;;
    esac
done
