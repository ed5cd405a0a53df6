package objects

import (
	"net/url"
	"regexp"
	"strings"

	"tidemark/internal/hint"
)

const scheme = "s3://"

// Address is a prefix in a bucket. The zero value is nowhere.
type Address struct {
	Bucket   string
	Prefix   string // without a slash at either end; empty for the whole bucket
	Endpoint string // the server's URL; empty for what the environment says
}

// IsAddress says whether a text means a bucket and not a folder.
func IsAddress(text string) bool { return strings.HasPrefix(text, scheme) }

// aBucket is what S3 allows as a name of one.
var aBucket = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// aPrefix keeps to characters that mean themselves in a URL, in a shell and on every server.
var aPrefix = regexp.MustCompile(`^([A-Za-z0-9._=-]+(/[A-Za-z0-9._=-]+)*)?$`)

// ParseAddress reads s3://bucket/prefix, also with ?endpoint=URL.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil { // the text may hold a key and is not repeated
		return Address{}, hint.Misuse("an address of a bucket that is none, or that holds a key").
			Hint("write s3://bucket/prefix; the key is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
	}
	a := Address{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Endpoint: u.Query().Get("endpoint")}
	isOther := len(u.Query()) > 1 || len(u.Query()) == 1 && a.Endpoint == ""
	if u.Scheme+"://" != scheme || !aBucket.MatchString(a.Bucket) || !aPrefix.MatchString(a.Prefix) || u.Fragment != "" || isOther {
		return Address{}, hint.Misuse("%s: not the address of a bucket", text).Hint("write s3://bucket/prefix, with letters, digits and -._= in the prefix; the server is in $AWS_ENDPOINT_URL if it is not AWS")
	}
	return a, nil
}

// Below is the address, as a user wrote it, of what has this name below it.
func Below(address, name string) string {
	where, query, _ := strings.Cut(address, "?")
	if query != "" {
		query = "?" + query
	}
	return strings.TrimSuffix(where, "/") + "/" + name + query
}

// String is s3://bucket/prefix.
func (a Address) String() string { return strings.TrimSuffix(scheme+a.Bucket+"/"+a.Prefix, "/") }

// WithEndpoint is the address with the server that the environment says today, so that it means the same tomorrow.
func (a Address) WithEndpoint() Address {
	a.Endpoint = a.endpoint()
	return a
}

// Full is String with the endpoint.
func (a Address) Full() string {
	if a.Endpoint == "" {
		return a.String()
	}
	return a.String() + "?" + url.Values{"endpoint": {a.Endpoint}}.Encode()
}

func (a Address) key(name string) string {
	if a.Prefix == "" {
		return name
	}
	return a.Prefix + "/" + name
}
