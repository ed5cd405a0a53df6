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

// anAddress is a text that can only be meant as an address: gs://bucket, s3:/bucket, S3://bucket.
var anAddress = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// CheckFolder refuses a text that is meant as an address and is none of ours, before a folder of that name is made.
func CheckFolder(text string) error {
	if IsAddress(text) || !anAddress.MatchString(text) {
		return nil
	}
	_, err := ParseAddress(text)
	return err
}

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
	if !IsAddress(text) || !aBucket.MatchString(a.Bucket) || !aPrefix.MatchString(a.Prefix) || u.Fragment != "" || isOther {
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

// Today is the address as it is to be typed now: with the server only where the environment says another one.
func (a Address) Today() string {
	if a.Endpoint == (Address{}).endpoint() {
		return a.String()
	}
	return "'" + a.Full() + "'"
}

func (a Address) key(name string) string {
	if a.Prefix == "" {
		return name
	}
	return a.Prefix + "/" + name
}
