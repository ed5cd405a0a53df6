package replay

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// The questions go over TLS like the load, and to a metrics address that is another host in plain.
func TestServersOverTLSAreAskedAndSampled(t *testing.T) {
	fake, plain := newFake(t, well(0)), newFake(t, nil)
	secure := httptest.NewTLSServer(http.HandlerFunc(fake.serve))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	s := settingsFor(secure.URL)
	s.TLS, s.Cache = &tls.Config{RootCAs: roots}, cacheReset
	s.MetricsURLs = []string{secure.URL + "/metrics", plain.URL + "/metrics"}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, every(0, 3, 9, 3)), s, folder)
	if err != nil || result.Completed != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	if texts, _ := sampled(t, folder); len(texts[secure.URL+"/metrics"]) != 2 || len(texts[plain.URL+"/metrics"]) != 2 {
		t.Errorf("%v", texts)
	}
	s.TLS = nil // a certificate that nobody vouches for
	refusedRun(t, planOf(t, every(0, 3, 9, 3)), s, "its certificate is not trusted")
}
