package objects

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tidemark/internal/hint"
)

const amazon = "https://s3.amazonaws.com"

func firstOf(variables ...string) string {
	for _, variable := range variables {
		if value := os.Getenv(variable); value != "" {
			return value
		}
	}
	return ""
}

// endpoint is empty for AWS.
func (a Address) endpoint() string {
	if a.Endpoint != "" {
		return a.Endpoint
	}
	return firstOf("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
}

// client is made of the variables that the AWS tools read.
func (a Address) client() (*minio.Client, error) {
	server := a.endpoint()
	region := firstOf("AWS_REGION", "AWS_DEFAULT_REGION")
	if server == "" {
		server = amazon
	} else if region == "" {
		region = "us-east-1" // what servers other than AWS call themselves, unless they are told another name
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, hint.Misuse("$AWS_ENDPOINT_URL is not the address of a server").Hint("as in AWS_ENDPOINT_URL=https://minio.example.com:9000")
	}
	transport, err := transport()
	if err != nil {
		return nil, err
	}
	return minio.New(u.Host, &minio.Options{
		Secure: u.Scheme == "https", Region: region, Creds: credentials.NewChainCredentials(providers()), Transport: transport,
		MaxRetries: 4, // with growing waits of up to a few seconds: a verb must not hang where nobody answers
	})
}

// providers are where a key is looked for, in this order. Without any the bucket is asked without a key.
func providers() []credentials.Provider {
	list := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if firstOf("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" {
		list = append(list, &credentials.IAM{})
	}
	return list
}

func transport() (http.RoundTripper, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		MaxIdleConnsPerHost:   atOnce,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true, // what is stored is what is read
		ForceAttemptHTTP2:     true,
	}
	path := os.Getenv("AWS_CA_BUNDLE")
	if path == "" {
		return t, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, hint.Errorf("$AWS_CA_BUNDLE: %w", err).Hint("name a PEM file of certificates")
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, hint.Errorf("$AWS_CA_BUNDLE: %s holds no certificate", path).Hint("name a PEM file of certificates")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t, nil
}
