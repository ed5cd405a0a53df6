#!/bin/sh
# Collects what the week of a service needs, makes its page, and sends the summary. The CronJob and the systemd units beside
# this file run it; it needs a POSIX shell, date, sed and awk, and what sends: sendmail or curl.
#
# Settings, none of them secret, come from the environment:
#   SERVICE        the service file; the SLO that it names lies beside it
#   OUTPUT         folder of the pages, one file per week
#   STATE          folder of the warehouse and of what was collected; it must outlive the run
#   WEEK           ISO week, such as 2026-W47 (default: the week that ended last, by the service's clock)
#   HEADROOM       exit with 1 where the low end of the headroom is below this share, such as 0.1 (default: no gate)
#   MAIL_TO        address; without SMTP_URL the mail goes to sendmail
#   MAIL_FROM      address (default: MAIL_TO)
#   SMTP_URL       such as smtps://mail.example.com:465, to send by curl
#   PAGE_URL       address of the folder OUTPUT for readers, if a web server shows it
# Secrets come from files, so that neither a unit, a manifest nor a list of processes shows them:
#   PROMETHEUS_AUTH_FILE  a token, or lines of user: and password:
#   SMTP_NETRC            user and password of the mail server, as in .netrc
#   WEBHOOK_CONFIG        a line for curl: url = "https://hooks.example.com/..."; it gets {"text": summary} by POST
#
# Exit code: that of the report (1: the gate; 2 and 4: there is no page), else that of what failed after or before it.
set -eu
umask 027

: "${SERVICE:?names the service file}" "${OUTPUT:?names the folder of the pages}" "${STATE:?names the folder of the warehouse}"
export TIDEMARK_WAREHOUSE="$STATE/tidemark.duckdb"

value() { sed -n "s/^$1:[[:space:]]*[\"']\{0,1\}\([^\"'[:space:]#]*\).*/\1/p" "$SERVICE"; }
name=$(value service)

# The week of seven days ago is the last one that is over. It is named here, because the report's own default is the last week
# that the data cover to its end, which is an older one if the collection has failed.
week=${WEEK:-$(TZ=$(value time_zone) date -d "@$(($(date +%s) - 604800))" +%G-W%V)}

failed=0
trouble=
if [ -n "$(value metrics)" ]; then
	set -- --service "$SERVICE" --runs "$STATE"
	[ -z "${PROMETHEUS_AUTH_FILE:-}" ] || set -- "$@" --prometheus-auth-file "$PROMETHEUS_AUTH_FILE"
	tidemark collect "$@" || {
		failed=$?
		trouble="The collection failed (exit code $failed): hours may be missing. "
	}
fi

mkdir -p "$OUTPUT"
page=$name-$week.html
summary=$OUTPUT/$name-$week
set -- --service "$SERVICE" --week "$week" --output "$OUTPUT/$page" --summary "$summary" --force
[ -z "${HEADROOM:-}" ] || set -- "$@" --fail-below-headroom "$HEADROOM"
rm -f "$summary/summary.md" # of an earlier try
reported=0
tidemark report "$@" || reported=$?

text=$(mktemp)
trap 'rm -f "$text" "$text.mail" "$text.json"' EXIT
{
	[ -z "$trouble" ] || printf '%s\n\n' "$trouble"
	if [ -f "$summary/summary.md" ]; then
		cat "$summary/summary.md"
	else
		printf 'There is no page of %s for week %s: tidemark report ended with exit code %s. Its log says why.\n' "$name" "$week" "$reported"
	fi
	[ -z "${PAGE_URL:-}" ] || printf '\n%s/%s\n' "${PAGE_URL%/}" "$page"
} >"$text"

if [ -n "${MAIL_TO:-}" ]; then
	{
		printf 'From: %s\nTo: %s\nSubject: %s, week %s\n' "${MAIL_FROM:-$MAIL_TO}" "$MAIL_TO" "$name" "$week"
		printf 'MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n'
		cat "$text"
	} >"$text.mail"
	if [ -n "${SMTP_URL:-}" ]; then
		set -- --silent --show-error --fail --url "$SMTP_URL" --ssl-reqd --mail-from "${MAIL_FROM:-$MAIL_TO}" --mail-rcpt "$MAIL_TO" --upload-file "$text.mail"
		[ -z "${SMTP_NETRC:-}" ] || set -- "$@" --netrc-file "$SMTP_NETRC"
		curl "$@" || failed=$?
	else
		sendmail -i "$MAIL_TO" <"$text.mail" || failed=$?
	fi
fi

if [ -n "${WEBHOOK_CONFIG:-}" ]; then
	awk 'BEGIN { printf "{\"text\": \"" }
		{ gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/\r/, ""); printf "%s\\n", $0 }
		END { print "\"}" }' "$text" >"$text.json"
	curl --silent --show-error --fail --config "$WEBHOOK_CONFIG" --header 'Content-Type: application/json' --data-binary "@$text.json" >/dev/null || failed=$?
fi

[ "$reported" -eq 0 ] || exit "$reported"
exit "$failed"
