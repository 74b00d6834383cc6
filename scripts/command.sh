# The command of the scripts for cron and systemd: sourced by them, it gives two functions.
#
#   prepare "$@"   takes the policy file from the first argument, or from NOISEVAULT_POLICY, sets `policy`, and leaves
#                  the other arguments in the array `rest`. Exits with 2 where neither names a file that can be read.
#   noisevault     the program: NOISEVAULT_PROGRAM, or else `noisevault` of the PATH.
#
# NOISEVAULT_ENVIRONMENT names a file of lines NAME=value, as systemd's EnvironmentFile, for cron, which has none: the
# shell reads it, so that it must belong to the user who runs this, or to root, and others must not write to it.

umask 077
ulimit -c 0 # a dump of the memory would hold keys

prepare() {
    case ${1:-} in
        '' | -*) policy=${NOISEVAULT_POLICY:-} ;;
        *) policy=$1; shift ;;
    esac
    rest=("$@")
    if [ -z "$policy" ] || [ ! -r "$policy" ]; then
        echo "name a policy file that can be read, as the first argument or by NOISEVAULT_POLICY" >&2
        exit 2
    fi
    if [ -n "${NOISEVAULT_ENVIRONMENT:-}" ]; then
        if [ ! -r "$NOISEVAULT_ENVIRONMENT" ] || [ -n "$(find -L "$NOISEVAULT_ENVIRONMENT" -perm /022)" ] ||
            ! { [ -O "$NOISEVAULT_ENVIRONMENT" ] || [ "$(stat -L -c %u "$NOISEVAULT_ENVIRONMENT")" = 0 ]; }; then
            echo "NOISEVAULT_ENVIRONMENT names a file of your own, or root's, that others do not write to" >&2
            exit 2
        fi
        set -a
        # shellcheck disable=SC1090
        . "$NOISEVAULT_ENVIRONMENT"
        set +a
    fi
}

noisevault() {
    exec "${NOISEVAULT_PROGRAM:-noisevault}" "$@"
}
