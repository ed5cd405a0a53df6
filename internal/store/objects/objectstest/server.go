// Package objectstest is a server of the S3 API inside of a test: one bucket in memory, with what a test needs to break.
// It heeds conditions as AWS does, keeps old versions if it is told to, and checks no key. What real servers do is tested
// in internal/proof/realobjects.
package objectstest

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bucket is the name of the only one.
const Bucket = "traffic"

// Server keeps objects until the test ends.
type Server struct {
	URL     string
	mu      sync.Mutex
	all     []version         // the newest of a key is the last
	count   int               // of versions that there ever were
	uploads map[string]upload // in parts and not complete, by their number

	// Before is asked first. True: it has answered itself.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// KeepsVersions: what is replaced or removed stays as an old version.
	KeepsVersions bool
	// IgnoresConditions: If-Match and If-None-Match of a write change nothing.
	IgnoresConditions bool
}

type upload struct {
	key   string
	parts map[int][]byte
}

type version struct {
	key, id string
	content []byte
	written time.Time
	isGone  bool
}

func (v version) tag() string { return `"tag-` + v.id + `"` }

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s, stop := Start()
	t.Cleanup(stop)
	return s
}

// Start is New for a test that ends otherwise.
func Start() (s *Server, stop func()) {
	s = &Server{}
	server := httptest.NewServer(s)
	s.URL = server.URL
	return s, server.Close
}

// Environment is what a process needs to ask the server.
func (s *Server) Environment() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "canary-secret-0123456789", "AWS_REGION": "us-east-1"}
}

// Keys are those of the objects that are there.
func (s *Server) Keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.now() {
		keys = append(keys, v.key)
	}
	return keys
}

// Everything is what the server holds of old and present versions, and of uploads that are not complete.
func (s *Server) Everything() (contents [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.all {
		contents = append(contents, v.content)
	}
	for _, u := range s.uploads {
		for _, part := range u.parts {
			contents = append(contents, part)
		}
	}
	return contents
}

// Get is the content of an object, or nil.
func (s *Server) Get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.find(key); v != nil {
		return v.content
	}
	return nil
}

// Put makes an object, as another process would.
func (s *Server) Put(key string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, content)
}

// Age makes everything look older.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		s.all[i].written = s.all[i].written.Add(-by)
	}
}

func (s *Server) put(key string, content []byte) {
	if !s.KeepsVersions {
		s.all = slices.DeleteFunc(s.all, func(v version) bool { return v.key == key })
	}
	s.all = append(s.all, version{key: key, id: s.next(), content: content, written: time.Now()})
}

func (s *Server) next() string {
	s.count++
	return "v" + strconv.Itoa(s.count)
}

func (s *Server) find(key string) *version {
	for i := len(s.all) - 1; i >= 0; i-- {
		if s.all[i].key == key {
			if s.all[i].isGone {
				return nil
			}
			return &s.all[i]
		}
	}
	return nil
}

func (s *Server) now() (list []version) {
	for _, v := range s.all {
		if newest := s.find(v.key); newest != nil && newest.id == v.id {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b version) int { return strings.Compare(a.key, b.key) })
	return list
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Before != nil && s.Before(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	switch {
	case bucket != Bucket:
		Refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	case key == "" && r.Method == http.MethodPost && query.Has("delete"):
		s.removeMany(w, r)
	case key == "" && query.Has("uploads"):
		s.listUploads(w, query.Get("prefix"))
	case query.Has("uploads"), query.Has("uploadId"):
		s.upload(w, r, key)
	case key == "" && query.Has("versions"):
		s.listVersions(w, query.Get("prefix"))
	case key == "":
		s.list(w, query.Get("prefix"))
	case r.Method == http.MethodPut:
		s.write(w, r, key)
	case r.Method == http.MethodDelete:
		s.remove(key, query.Get("versionId"))
		w.WriteHeader(http.StatusNoContent)
	default:
		s.read(w, r, key)
	}
}

// Refuse is an answer of the S3 API that is an error.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, key string) {
	v := s.find(key)
	if v == nil {
		Refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	w.Header().Set("ETag", v.tag())
	w.Header().Set("Last-Modified", v.written.UTC().Format(http.TimeFormat))
	if r.Header.Get("If-None-Match") == v.tag() {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(v.content)))
	_, _ = w.Write(v.content)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, key string) {
	content, err := body(r)
	if err != nil { // the client broke off: no object
		Refuse(w, http.StatusBadRequest, "IncompleteBody", err.Error())
		return
	}
	now := s.find(key)
	wanted := r.Header.Get("If-Match")
	if !s.IgnoresConditions && (r.Header.Get("If-None-Match") == "*" && now != nil || wanted != "" && (now == nil || strings.Trim(wanted, `"`) != strings.Trim(now.tag(), `"`))) {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
		return
	}
	s.put(key, content)
	w.Header().Set("ETag", s.find(key).tag())
}

// upload is a large object that comes in parts.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, key string) {
	id := r.URL.Query().Get("uploadId")
	parts := s.uploads[id].parts
	switch {
	case id == "":
		if s.uploads == nil {
			s.uploads = map[string]upload{}
		}
		id = s.next()
		s.uploads[id] = upload{key, map[int][]byte{}}
		fmt.Fprintf(w, `<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>`, Bucket, key, id)
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		content, err := body(r)
		number, numberErr := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil || numberErr != nil || parts == nil {
			Refuse(w, http.StatusBadRequest, "IncompleteBody", "a part of an upload")
			return
		}
		parts[number] = content
		w.Header().Set("ETag", version{id: s.next()}.tag())
	default:
		var content []byte
		for number := range len(parts) {
			content = append(content, parts[number+1]...)
		}
		delete(s.uploads, id)
		s.put(key, content)
		fmt.Fprintf(w, `<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>`, Bucket, key, s.find(key).tag())
	}
}

func (s *Server) listUploads(w http.ResponseWriter, prefix string) {
	type entry struct{ Key, UploadId, Initiated string } //nolint:revive // the API's name
	var answer struct {
		XMLName     xml.Name `xml:"ListMultipartUploadsResult"`
		IsTruncated bool
		Upload      []entry
	}
	for id, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) {
			answer.Upload = append(answer.Upload, entry{u.key, id, time.Now().UTC().Format(time.RFC3339Nano)})
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}

// body decodes the chunks in which a client signs what it sends without TLS.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var content []byte
	in := bufio.NewReader(r.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return content, err
		}
		chunk := make([]byte, n+2) // and a line's end
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		content = append(content, chunk[:n]...)
	}
}

func (s *Server) remove(key, id string) {
	switch {
	case id != "":
		s.all = slices.DeleteFunc(s.all, func(v version) bool { return v.key == key && v.id == id })
	case s.KeepsVersions:
		s.all = append(s.all, version{key: key, id: s.next(), written: time.Now(), isGone: true})
	default:
		s.all = slices.DeleteFunc(s.all, func(v version) bool { return v.key == key })
	}
}

func (s *Server) removeMany(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Object []struct{ Key, VersionId string } //nolint:revive // the API's name
	}
	text, err := body(r)
	if err == nil {
		err = xml.Unmarshal(text, &wanted)
	}
	if err != nil {
		Refuse(w, http.StatusBadRequest, "MalformedXML", err.Error())
		return
	}
	for _, o := range wanted.Object {
		s.remove(o.Key, o.VersionId)
	}
	fmt.Fprint(w, `<DeleteResult></DeleteResult>`)
}

type entry struct {
	Key, ETag, VersionId string //nolint:revive // the API's name
	LastModified         string
	Size                 int
	IsLatest             bool
}

func (s *Server) entry(v version) entry {
	newest := ""
	for _, other := range s.all {
		if other.key == v.key {
			newest = other.id
		}
	}
	return entry{Key: v.key, ETag: v.tag(), VersionId: v.id, LastModified: v.written.UTC().Format(time.RFC3339Nano), Size: len(v.content), IsLatest: newest == v.id}
}

func (s *Server) list(w http.ResponseWriter, prefix string) {
	var answer struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		IsTruncated bool
		Contents    []entry
	}
	for _, v := range s.now() {
		if strings.HasPrefix(v.key, prefix) {
			answer.Contents = append(answer.Contents, s.entry(v))
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}

func (s *Server) listVersions(w http.ResponseWriter, prefix string) {
	var answer struct {
		XMLName      xml.Name `xml:"ListVersionsResult"`
		IsTruncated  bool
		Version      []entry
		DeleteMarker []entry
	}
	for _, v := range s.all {
		if !strings.HasPrefix(v.key, prefix) {
			continue
		}
		if v.isGone {
			answer.DeleteMarker = append(answer.DeleteMarker, s.entry(v))
		} else {
			answer.Version = append(answer.Version, s.entry(v))
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}
