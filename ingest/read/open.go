package read

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// bombLimit is what a packed file may unpack to.
type bombLimit struct {
	after int64 // decompressed bytes before the ratio counts
	ratio int64 // decompressed to compressed
}

// Limits against files made to blow up. Real traces compress 5 to 30 times. Samples of a run repeat the server's metrics each second, in
// which little changes: a day of an idle server compresses some hundred times. Zeros compress 30,000 times.
var (
	ofTraces = bombLimit{256 << 20, 120}
	ofRuns   = bombLimit{4 << 30, 5_000}
)

const (
	zstdWindowBytes   = 128 << 20 // what zstd --long=27 needs
	compressedBufSize = 256 << 10
)

// File is an open file: Read yields its decompressed bytes. One hash sees these,
// another the bytes as they are on disk.
type File struct {
	ctx     context.Context
	Disk    *counted // below the decompression
	content io.Reader
	packed  string    // "gzip", "zstd", "xz" or ""
	sum     hash.Hash // of the decompressed bytes; nil where the file is not packed
	unpacks int64     // decompressed bytes so far
	Last    byte      // of what was read so far
	Size    int64     // on disk; 0 where that is not known
	closers []func() error

	bomb     bombLimit
	mayBeCut bool
	IsCut    bool // it ended in the middle of a frame
}

// OfRun says that the file is one that replay writes. Its writer may still be at work, or was killed: an end in the middle of a frame is
// the end, and IsCut tells of it.
func (in *File) OfRun() { in.mayBeCut, in.bomb = true, ofRuns }

// counted hashes and counts what is read through it.
type counted struct {
	reader io.Reader
	sum    hash.Hash
	Bytes  atomic.Int64 // read so far; the progress line looks at it from another goroutine
	ended  bool         // what is written to the file after its end was met does not count: the fingerprint is of what was read
}

func (c *counted) Read(p []byte) (int, error) {
	if c.ended {
		return 0, io.EOF
	}
	n, err := c.reader.Read(p)
	c.ended = err == io.EOF
	c.sum.Write(p[:n])
	c.Bytes.Add(int64(n))
	return n, err
}

// Open opens a file or, for "-", stdin. Whether it is packed is seen by its first
// bytes, whatever its name.
func Open(ctx context.Context, path string, stdin io.Reader) (*File, error) {
	in := &File{ctx: ctx, bomb: ofTraces}
	if path == "-" {
		if stdin == nil {
			stdin = os.Stdin
		}
		return in, in.attach(stdin)
	}
	file, err := userfile.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	in.closers = append(in.closers, file.Close)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		in.Size = info.Size()
	}
	if err := in.attach(file); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	xzMagic   = []byte{0xfd, '7', 'z', 'X', 'Z', 0x00}
)

// attach looks at the first bytes and puts the right decompression on top.
func (in *File) attach(raw io.Reader) error {
	in.Disk = &counted{reader: raw, sum: sha256.New()}
	buffered := bufio.NewReaderSize(in.Disk, compressedBufSize)
	head, err := buffered.Peek(len(xzMagic))
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("gzip: %w", unpackError(err))
		}
		in.packed, in.content = "gzip", unpacked
	case bytes.HasPrefix(head, zstdMagic):
		unpacked, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(zstdWindowBytes),
			zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		in.packed, in.content = "zstd", unpacked
		in.closers = append(in.closers, func() error { unpacked.Close(); return nil })
	case bytes.HasPrefix(head, xzMagic):
		unpacked, err := xz.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("xz: %w", unpackError(err))
		}
		in.packed, in.content = "xz", unpacked
	default:
		in.content = buffered
	}
	if in.packed != "" {
		in.sum = sha256.New()
	}
	return nil
}

// Read is where a cancelled context and a decompression bomb are noticed.
func (in *File) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := in.content.Read(p)
	in.unpacks += int64(n)
	if n > 0 {
		in.Last = p[n-1]
	}
	if in.packed == "" {
		return n, err
	}
	in.sum.Write(p[:n])
	if in.unpacks > in.bomb.after && in.unpacks > in.bomb.ratio*in.Disk.Bytes.Load() {
		return n, hint.Errorf("%s: unpacks to more than %d times its size, refused", in.packed, in.bomb.ratio).
			Hint("unpack it yourself if it is what you think it is")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && in.mayBeCut {
		in.IsCut = true
		return n, io.EOF
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", in.packed, unpackError(err))
	}
	return n, err
}

// errCut marks a compressed stream that ends before its end.
var errCut = errors.New("the file is cut: it ends in the middle of the compressed stream")

// unpackError puts the decompressors' errors into the words of a user.
func unpackError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch):
		return errors.New("something that is not compressed data follows the compressed stream")
	default:
		return err
	}
}

// Sums are the fingerprints of a file. The same rows are one source, whether they
// are packed or not, so a source is identified by Content. Disk identifies it in
// warehouses that were made when packed files were known by their packed bytes.
type Sums struct{ Content, Disk string }

// Sums reads what is left of the file and returns its fingerprints.
func (in *File) Sums() (Sums, error) {
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{in}); err != nil {
		return Sums{}, err
	}
	if _, err := io.Copy(io.Discard, in.Disk); err != nil {
		return Sums{}, err
	}
	disk := hex.EncodeToString(in.Disk.sum.Sum(nil))
	if in.packed == "" {
		return Sums{disk, disk}, nil
	}
	return Sums{hex.EncodeToString(in.sum.Sum(nil)), disk}, nil
}

// Close closes what Open opened, the last first.
func (in *File) Close() {
	for i := len(in.closers) - 1; i >= 0; i-- {
		_ = in.closers[i]() // only read from: nothing can be lost
	}
}

// SumsOf hashes a file without parsing it.
func SumsOf(ctx context.Context, path string) (Sums, error) {
	in, err := Open(ctx, path, nil)
	if err != nil {
		return Sums{}, err
	}
	defer in.Close()
	return in.Sums()
}
