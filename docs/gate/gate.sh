#!/bin/sh
# Measures an old and a new version of a server with the same requests and decides whether the new one is worse.
# It needs a POSIX shell, curl and tidemark.
#
# Settings come from the environment:
#   OLD         the version in use
#   NEW         the version to judge
#   SERVE       a command that gets a version as its argument and serves it at BASE_URL until it gets SIGTERM
#   PLAN        what is sent: a file of "tidemark plan", the same for every run
#   MODEL       the name that the server serves
#   REPLAY      further flags of "tidemark replay"; --gpu and --catalog-model must be among them
#   BASE_URL    (default: http://127.0.0.1:8000)
#   REPEATS     runs of each version (default: 3)
#   BOUND       as much worse is accepted (default: 5%)
#   READY_S     seconds that a server may take to start (default: 1200)
#   NIGHT       begins the names of the runs (default: the time)
#   RUNS        folder of the runs (default: runs)
#
# It writes gate.xml (JUnit), and appends to $GITHUB_STEP_SUMMARY where that is set.
# Exit code: that of "tidemark compare --fail-if-worse" (0 green, 1 red, 2 the runs are not alike, 3 runs are invalid or failed), or 4 where a
# server does not start.
set -eu

: "${OLD:?names the old version}" "${NEW:?names the new version}" "${SERVE:?starts a server}" "${PLAN:?names a plan}" "${MODEL:?names the model}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8000}
NIGHT=${NIGHT:-$(date -u +%Y%m%dT%H%M%SZ)}
server=
trap 'stop' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
	echo "gate: $*" >&2
	exit 4
}

answers() { curl --silent --fail --output /dev/null --max-time 5 "$BASE_URL/v1/models"; }

stop() {
	[ -n "$server" ] || return 0
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	server=
}

# measure VERSION NAME: a server of its own for each run, since two starts of one version differ too, and its cache is empty.
measure() {
	! answers || fail "something answers at $BASE_URL already"
	$SERVE "$1" &
	server=$!
	waited=0
	until answers; do
		kill -0 "$server" 2>/dev/null || fail "the server of $1 ended before it answered"
		waited=$((waited + 1))
		[ "$waited" -le "${READY_S:-1200}" ] || fail "the server of $1 does not answer at $BASE_URL after ${READY_S:-1200} s"
		sleep 1
	done
	code=0
	# shellcheck disable=SC2086 # REPLAY holds several words
	tidemark replay "$PLAN" --base-url "$BASE_URL" --model "$MODEL" --name "$2" --runs "${RUNS:-runs}" ${REPLAY:-} || code=$?
	stop
	# A run that failed (1) or is invalid (3) is for the gate to judge.
	case $code in 0 | 1 | 3) ;; *) exit "$code" ;; esac
}

# In turns, so that a machine that gets warmer or busier is no difference between the versions.
old=
new=
repeat=1
while [ "$repeat" -le "${REPEATS:-3}" ]; do
	measure "$OLD" "$NIGHT-old-$repeat"
	measure "$NEW" "$NIGHT-new-$repeat"
	old=$old,$NIGHT-old-$repeat
	new=$new,$NIGHT-new-$repeat
	repeat=$((repeat + 1))
done

set -- "${old#,}" "${new#,}" --fail-if-worse "${BOUND:-5%}" --junit gate.xml
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || set -- "$@" --summary "$GITHUB_STEP_SUMMARY"
tidemark compare "$@"
