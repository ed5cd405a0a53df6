package read

// The verb serve answers SQL over HTTP, for notebooks and for a page in the browser. internal/serve is the server; each
// query runs in a process of its own (internal/serve/worker), which main starts as this program again.
//
// It serves the published snapshot and never the warehouse, so that nobody who reads waits for somebody who writes.
//
// Exit codes: 0 or the signal's code after Ctrl-C; 2 for an address without token or TLS, or a token that is too short;
// 4 where there is no snapshot, or the port is taken.

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/serve"
	"tidemark/internal/serve/pages"
	"tidemark/internal/show"
	"tidemark/internal/store/published"
)

type serveFlags struct {
	kit.Call
	host, published, reports, tokenFile, tlsCert, tlsKey, memory, maxBytes string
	port, workers, queue                                                   int
	noToken                                                                bool
	timeout                                                                time.Duration
	maxRows                                                                int64
}

func ServeCommand() *cli.Command {
	f := &serveFlags{}
	return &cli.Command{
		Name:  "serve",
		Usage: "SQL over HTTP, for notebooks and a browser",
		Description: `POST /v1/sql answers the SQL in its body as an Arrow stream, or as CSV, JSON or
Parquet (Accept). docs/serve.md has parameters, statuses and limits. The page
at / lists reports, runs and answers, asks and plots. A token is in $TIDEMARK_TOKEN or --token-file.

Example:
  TIDEMARK_TOKEN=$(openssl rand -hex 16) tidemark serve --port 8765
  pa.ipc.open_stream(requests.post("http://127.0.0.1:8765/v1/sql", data=sql,
    headers={"Authorization": "Bearer " + token}, stream=True).raw).read_all()`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "host", Usage: "listen on `HOST`; others than this machine need a token and TLS", Value: "127.0.0.1", Destination: &f.host},
			&cli.IntFlag{Name: "port", Usage: "listen on `PORT`; 0 takes a free one", Value: 8765, Destination: &f.port},
			&cli.StringFlag{Name: "published", Usage: "serve what is published in `DIR` or s3://bucket/prefix (default: the warehouse's .published)", EnvVars: []string{"TIDEMARK_PUBLISH"}, Destination: &f.published},
			&cli.StringFlag{Name: "reports", Usage: "list the pages of `DIR` too, such as report --output writes", Destination: &f.reports},
			&cli.StringFlag{Name: "token-file", Usage: "let these ask: a name and a token in each line of `FILE`", Destination: &f.tokenFile},
			&cli.BoolFlag{Name: "no-token", Usage: "let everybody on this machine ask", Destination: &f.noToken},
			&cli.StringFlag{Name: "tls-cert", Usage: "serve HTTPS with the certificate in `FILE`", Destination: &f.tlsCert},
			&cli.StringFlag{Name: "tls-key", Usage: "and its key in `FILE`", Destination: &f.tlsKey},
			&cli.DurationFlag{Name: "timeout", Usage: "end a query after `60s`", Value: time.Minute, Destination: &f.timeout},
			&cli.StringFlag{Name: "memory", Usage: "let a query take up to `2GB`", Value: "2GB", Destination: &f.memory},
			&cli.IntFlag{Name: "workers", Usage: "run `N` queries at a time (default: one for each core)", Destination: &f.workers, Action: kit.AtLeastOne[int]("workers")},
			&cli.IntFlag{Name: "queue", Usage: "let `N` queries of one token wait", Value: 16, Destination: &f.queue, Action: kit.AtLeastOne[int]("queue")},
			&cli.Int64Flag{Name: "max-rows", Usage: "cut an answer after `N` rows, and say so (0: never)", Destination: &f.maxRows},
			&cli.StringFlag{Name: "max-bytes", Usage: "cut an answer after `4GB`, and say so", Value: "4GB", Destination: &f.maxBytes},
			f.WarehouseFlag(), f.QuietFlag(),
		},
		Action: f.Do(f.run),
	}
}

func (f *serveFlags) run() error {
	config, err := f.config()
	if err != nil {
		return err
	}
	certificate, err := f.certificate()
	if err != nil {
		return err
	}
	if err := serve.CheckListening(f.host, len(config.Tokens), certificate != nil); err != nil {
		return err
	}
	if err := f.follow(&config); err != nil {
		return err
	}
	server, err := serve.New(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.host, fmt.Sprint(f.port)))
	if err != nil {
		return errors.Join(hint.Errorf("serve: %w", err).Hint("take another --port, or --port 0 for a free one"), server.Shutdown(f.Context))
	}
	scheme := "http"
	if certificate != nil {
		listener, scheme = tls.NewListener(listener, certificate), "https"
	}
	f.Tell("SQL at %s://%s/v1/sql, a page at %s://%s/ (%s); Ctrl-C ends it", scheme, listener.Addr(), scheme, listener.Addr(), whoMayAsk(config))
	return serveUntilStopped(&f.Call, server, listener)
}

// follow fetches what is published in a bucket, if it is one that is to be served, and goes on doing so until the first
// signal.
func (f *serveFlags) follow(config *serve.Config) error {
	at, is, err := f.BucketOf("published", f.published)
	if err != nil || !is {
		return err
	}
	follower, err := published.Follow(f.Context, at)
	if err != nil {
		return hint.Errorf("serve: %w", err).Hint("%s", hint.Of(err))
	}
	go follower.Run(f.Context, config.Tell)
	config.Published, config.Trouble = follower.Folder(), follower.Trouble
	return nil
}

// serveUntilStopped lets running queries end after the first signal; the second one ends them.
func serveUntilStopped(c *kit.Call, server *serve.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(c.Context, func() { stopped <- server.Shutdown(kit.HardStop(c.Context)) })
	err := server.Serve(listener)
	if !stop() { // the signal came
		<-stopped
		return nil
	}
	return errors.Join(err, server.Shutdown(c.Context))
}

func whoMayAsk(config serve.Config) string {
	if len(config.Tokens) == 0 {
		return "no token: everybody on this machine may ask"
	}
	return "for " + show.Things(len(config.Tokens), "token", "tokens")
}

// config checks every flag before anything is opened.
func (f *serveFlags) config() (config serve.Config, err error) {
	if err := f.NoArguments("the SQL comes over HTTP; name the folder by --published"); err != nil {
		return config, err
	}
	if f.published == published.Off {
		return config, hint.Misuse("serve: TIDEMARK_PUBLISH says that nothing is published").Hint("name the folder with --published DIR")
	}
	if f.port < 0 || f.port > 65535 {
		return config, hint.Misuse("serve: --port %d: not a port", f.port).Hint("--port 8765, or --port 0 for a free one")
	}
	if f.timeout <= 0 {
		return config, hint.Misuse("serve: --timeout %s: must be above 0", f.timeout).Hint("--timeout 60s")
	}
	if f.maxRows < 0 {
		return config, hint.Misuse("serve: --max-rows %d: must be 0 or above", f.maxRows).Hint("0 cuts no answer")
	}
	memory, err := sizeOf("memory", f.memory)
	if err != nil {
		return config, err
	}
	mostBytes, err := sizeOf("max-bytes", f.maxBytes)
	if err != nil {
		return config, err
	}
	tokens, err := f.tokens()
	config = serve.Config{
		Published: published.Folder(f.Warehouse, f.published), Tokens: tokens, MemoryBytes: memory, Timeout: f.timeout,
		Workers: cmp.Or(f.workers, max(runtime.NumCPU(), 2)), Queue: f.queue, MostRows: f.maxRows, MostBytes: mostBytes,
		Tell: f.Tell,
	}
	if f.reports == "" || err != nil {
		return config, err
	}
	config.ReportsFolder, config.Reports = f.reports, pages.In(f.reports)
	if _, err := config.Reports(); err != nil {
		return config, hint.Errorf("serve: --reports: %w", err).Hint("name the folder that reports are written into")
	}
	return config, nil
}

// sizeOf is a size with its unit.
func sizeOf(flag, text string) (int64, error) {
	size, isSize := deployment.Bytes(text)
	const least, most = 1 << 20, 1 << 46 // bytes; beyond these a slip of the hand
	if !isSize || size < least || size > most {
		return 0, hint.Misuse("serve: --%s %s: not a size between 1 MiB and 64 TiB", flag, text).Hint("--%s 2GB", flag)
	}
	return int64(size), nil
}

// tokens takes tokens from a file or the environment, never from a flag, which other users of the machine could read.
func (f *serveFlags) tokens() ([]serve.Token, error) {
	secret := os.Getenv("TIDEMARK_TOKEN")
	switch {
	case f.noToken && f.tokenFile != "":
		return nil, f.Exclusive("no-token", "token-file")
	case f.noToken:
		return nil, nil
	case f.tokenFile != "":
		text, err := kit.FileOf("token-file", f.tokenFile)
		if err != nil {
			return nil, err
		}
		tokens, err := serve.ReadTokens(f.tokenFile, string(text))
		return tokens, named(err)
	case secret == "":
		return nil, hint.Misuse("serve: no token").
			Hint("set $TIDEMARK_TOKEN (openssl rand -hex 16 makes one), name a --token-file, or give --no-token to let everybody on this machine ask")
	}
	token, err := serve.NewToken("in $TIDEMARK_TOKEN", secret)
	return []serve.Token{token}, named(err)
}

func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// certificate is nil without TLS.
func (f *serveFlags) certificate() (*tls.Config, error) {
	if f.tlsCert == "" && f.tlsKey == "" {
		return nil, nil
	}
	if f.tlsCert == "" || f.tlsKey == "" {
		return nil, hint.Misuse("serve: --tls-cert and --tls-key go together")
	}
	pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return nil, hint.Errorf("serve: --tls-cert %s: %w", f.tlsCert, err).Hint("both are PEM files, and the key is of the certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
