package objects

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"tidemark/internal/hint"
)

// atOnce is how many objects are written at a time.
const atOnce = 8

// Object is one that is there.
type Object struct {
	Name    string // below the prefix
	Bytes   int64
	Written time.Time // by the server's clock
	version string    // where the bucket keeps old versions
	isNow   bool      // and this is the present one
}

var (
	// ErrNotThere marks an object that does not exist. A bucket that does not exist is another error.
	ErrNotThere = errors.New("no such object")
	// ErrSame marks an object that has not changed since it was read.
	ErrSame = errors.New("the object has not changed")
	// ErrChanged marks a Swap that came too late.
	ErrChanged = errors.New("another process has changed the object")
)

// Store reads and writes below one address.
type Store struct {
	at     Address
	client minio.Core
}

// Open asks the server nothing yet.
func Open(at Address) (*Store, error) {
	client, err := at.client()
	if err != nil {
		return nil, err
	}
	return &Store{at: at, client: minio.Core{Client: client}}, nil
}

// Read is a small object, and its tag. ErrSame says that it still has the tag of an earlier read.
func (s *Store) Read(ctx context.Context, name, tag string) (content []byte, newTag string, err error) {
	var options minio.GetObjectOptions
	if tag != "" {
		if err := options.SetMatchETagExcept(tag); err != nil {
			return nil, "", err
		}
	}
	body, info, _, err := s.client.GetObject(ctx, s.at.Bucket, s.at.key(name), options)
	if err != nil {
		return nil, "", s.said(name, err)
	}
	defer body.Close()
	const most = 256 << 20 // bytes; a manifest of a hundred thousand parts has 40 MB
	content, err = io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && len(content) > most {
		return nil, "", hint.Errorf("%s/%s: has more than %d MiB, and is read whole", s.at, name, most>>20).Hint("see what it is")
	}
	return content, info.ETag, s.said(name, err)
}

// Fetch copies an object.
func (s *Store) Fetch(ctx context.Context, name string, to io.Writer) error {
	body, _, _, err := s.client.GetObject(ctx, s.at.Bucket, s.at.key(name), minio.GetObjectOptions{})
	if err != nil {
		return s.said(name, err)
	}
	defer body.Close()
	_, err = io.Copy(to, body)
	return s.said(name, err)
}

// Write makes an object of a file's first bytes. A large one goes in parts, several at a time.
func (s *Store) Write(ctx context.Context, name string, file *os.File, size int64) error {
	_, err := s.client.Client.PutObject(ctx, s.at.Bucket, s.at.key(name), io.NewSectionReader(file, 0, size), size, minio.PutObjectOptions{})
	return s.said(name, err)
}

// Swap writes a small object in place of the one that had the tag, or where there was none if the tag is empty. It fails
// with ErrChanged where another process was faster.
func (s *Store) Swap(ctx context.Context, name string, content []byte, tag string) error {
	options := minio.PutObjectOptions{ContentType: "application/json", DisableMultipart: true}
	if tag == "" {
		options.SetMatchETagExcept("*")
	} else {
		options.SetMatchETag(tag)
	}
	_, err := s.client.Client.PutObject(ctx, s.at.Bucket, s.at.key(name), bytes.NewReader(content), int64(len(content)), options)
	if err = s.said(name, err); !errors.Is(err, ErrChanged) && !errors.Is(err, ErrNotThere) {
		return err
	}
	// An answer that was lost on its way makes the client send again, and then the condition does not hold any more.
	now, _, err := s.Read(ctx, name, "")
	if err == nil && !bytes.Equal(now, content) || errors.Is(err, ErrNotThere) {
		return ErrChanged
	}
	return err
}

// KeepsConditions tries whether the server heeds the condition of a write. One that does not would let two processes
// overwrite each other.
func (s *Store) KeepsConditions(ctx context.Context, name string) (bool, error) {
	if err := s.Swap(ctx, name, []byte("one"), ""); err != nil && !errors.Is(err, ErrChanged) {
		return false, err
	}
	_, tag, err := s.Read(ctx, name, "")
	if err != nil {
		return false, err
	}
	onAbsence := s.Swap(ctx, name, []byte("two"), "")
	onTag := s.Swap(ctx, name, []byte("three"), strings.Repeat("0", len(tag)))
	err = s.said(name, s.client.Client.RemoveObject(ctx, s.at.Bucket, s.at.key(name), minio.RemoveObjectOptions{}))
	return errors.Is(onAbsence, ErrChanged) && errors.Is(onTag, ErrChanged), err
}

// List is everything below the prefix.
func (s *Store) List(ctx context.Context) (list []Object, err error) { return s.list(ctx, false) }

// ListVersions also has the old versions that a bucket keeps. Where a server knows no versions, it is List.
func (s *Store) ListVersions(ctx context.Context) (list []Object, err error) {
	list, err = s.list(ctx, true)
	if code := minio.ToErrorResponse(cause(err)).StatusCode; code == http.StatusNotImplemented || code == http.StatusMethodNotAllowed || code == http.StatusBadRequest {
		return s.list(ctx, false)
	}
	return list, err
}

func (s *Store) list(ctx context.Context, withVersions bool) (list []Object, err error) {
	under := s.at.key("")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for info := range s.client.Client.ListObjects(ctx, s.at.Bucket, minio.ListObjectsOptions{Prefix: under, Recursive: true, WithVersions: withVersions}) {
		if info.Err != nil {
			return nil, s.said("", info.Err)
		}
		list = append(list, Object{
			Name: strings.TrimPrefix(info.Key, under), Bytes: info.Size, Written: info.LastModified,
			version: info.VersionID, isNow: !withVersions || info.IsLatest && !info.IsDeleteMarker,
		})
	}
	return list, ctx.Err()
}

// IsNow is false for an old version, and for the mark that an object was removed.
func (o Object) IsNow() bool { return o.isNow }

// Remove removes objects, or the versions that ListVersions gave.
func (s *Store) Remove(ctx context.Context, list []Object) error {
	if len(list) == 0 {
		return nil
	}
	queue := make(chan minio.ObjectInfo, len(list))
	for _, o := range list {
		queue <- minio.ObjectInfo{Key: s.at.key(o.Name), VersionID: o.version}
	}
	close(queue)
	var errs []error
	for failed := range s.client.Client.RemoveObjects(ctx, s.at.Bucket, queue, minio.RemoveObjectsOptions{}) {
		if len(errs) < 3 { // the others say the same
			errs = append(errs, s.said(strings.TrimPrefix(failed.ObjectName, s.at.key("")), failed.Err))
		}
	}
	return errors.Join(errs...)
}

// EndUploads ends uploads of large objects of some names that began before an instant and were never completed. Their parts take room,
// and no listing shows them.
func (s *Store) EndUploads(ctx context.Context, before time.Time, isNamed func(name string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for upload := range s.client.Client.ListIncompleteUploads(ctx, s.at.Bucket, s.at.key(""), true) {
		if upload.Err != nil {
			return s.said("", upload.Err)
		}
		if upload.Initiated.Before(before) && isNamed(strings.TrimPrefix(upload.Key, s.at.key(""))) {
			if err := s.client.AbortMultipartUpload(ctx, s.at.Bucket, upload.Key, upload.UploadID); err != nil {
				return s.said(upload.Key, err)
			}
		}
	}
	return nil
}

// Each does something for all numbers below a count, several at a time, and ends at the first error.
func Each(ctx context.Context, count int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// refusal keeps the server's answer as the cause of an error that has a text of its own.
type refusal struct {
	text   string
	answer error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.answer }

func cause(err error) error {
	if of := (minio.ErrorResponse{}); errors.As(err, &of) {
		return of
	}
	return err
}

// said turns a server's answer into an error that says what to do.
func (s *Store) said(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	at := s.at.String()
	if name != "" {
		at += "/" + name
	}
	answer := minio.ErrorResponse{}
	if !errors.As(err, &answer) {
		server := cmp.Or(s.at.endpoint(), amazon)
		return hint.Errorf("%s: %w", at, err).Hint("the server is %s, by $AWS_ENDPOINT_URL or the address; see whether it can be reached", server)
	}
	is := refusal{fmt.Sprintf("%s: the server says %s: %s", at, answer.Code, strings.TrimSuffix(answer.Message, ".")), answer}
	switch {
	case answer.StatusCode == http.StatusNotModified:
		return ErrSame
	case answer.StatusCode == http.StatusPreconditionFailed, answer.StatusCode == http.StatusConflict:
		return ErrChanged
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%s: %w", at, ErrNotThere)
	case answer.Code == minio.NoSuchBucket:
		return hint.Errorf("%w", is).Hint("make the bucket first; nobody makes one by publishing")
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
		return hint.Errorf("%w", is).Hint("the key in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY needs s3:GetObject and s3:ListBucket to read, and s3:PutObject and s3:DeleteObject to publish")
	}
	return hint.Wrap(is)
}
