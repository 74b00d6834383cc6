# The virtual environments of the scripts: sourced by them, it gives two functions.
#
#   system_package PROGRAM PACKAGE   installs PACKAGE from Debian's or Ubuntu's archive when PROGRAM is missing and we
#                      are root; not with NOISEVAULT_INSTALL=no. Says what to type where it may not or cannot.
#   environment NAME   makes or reuses the environment NAME (demo, test, bench) from requirements/NAME.txt,
#                      installs the project itself, and sets PYTHON to its interpreter.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Every command that a test runs would compile the project anew where byte code is not kept.
unset PYTHONDONTWRITEBYTECODE

# A server that is started as root gives up root: its files must be reachable by others.
reachable_by_others() {
    local place=$1
    while [ "$place" != / ]; do
        case $(stat -L -c %A "$place") in *[xt]) ;; *) return 1 ;; esac
        place=$(dirname "$place")
    done
}

environment_place() {
    if [ "$(id -u)" != 0 ] || reachable_by_others "$root"; then
        echo "$root/.venv-$1"
    else
        echo "/var/tmp/noisevault-$(id -u)/$(printf %s "$root" | cksum | cut -d' ' -f1)/venv-$1"
    fi
}

find_python() {
    local candidate
    for candidate in "${NOISEVAULT_PYTHON:-python3}" python3.13 python3.12 python3.11 python3.14 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "NoiseVault needs Python 3.11 or later; on Debian or Ubuntu type: apt-get install python3 python3-venv" >&2
    return 1
}

environment() {
    local name=$1 base place stamp
    base=$(find_python) || return 1
    place=$(environment_place "$name")
    PYTHON=$place/bin/python
    # The environment holds for this lock, this interpreter and this project file.
    stamp=$({ cat "$root/requirements/$name.txt" "$root/pyproject.toml"; "$base" -V; echo "$root"; } | cksum)
    if [ "$(cat "$place/stamp" 2>/dev/null)" = "$stamp" ] && "$PYTHON" -c '' 2>/dev/null; then
        return
    fi
    if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "this Python cannot make virtual environments; on Debian or Ubuntu type: apt-get install python3-venv" >&2
        return 1
    fi
    echo "making the environment '$name' (once)" >&2
    rm -rf "$place"
    mkdir -p "$(dirname "$place")"
    "$base" -m venv "$place" || return 1
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$root/requirements/$name.txt" || return 1
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable "$root" || return 1
    echo "$stamp" > "$place/stamp"
}

system_package() {
    local program=$1 package=$2
    # Debian puts servers where an ordinary user's PATH does not look.
    if PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$program" > /dev/null; then return; fi
    if [ "$(id -u)" = 0 ] && [ "${NOISEVAULT_INSTALL:-yes}" != no ] && command -v apt-get > /dev/null; then
        echo "installing the system's package '$package' (once)" >&2
        apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" > /dev/null; }
        if apt_get install -y "$package" 2>/dev/null || { apt_get update && apt_get install -y "$package"; }; then
            return
        fi
    fi
    echo "$program is not on this machine, so its tests will not run; as root type: apt-get install $package" >&2
}
