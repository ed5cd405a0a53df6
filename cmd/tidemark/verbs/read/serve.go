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
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/serve"
	"tidemark/internal/serve/worker"
	"tidemark/internal/show"
	"tidemark/internal/store/published"
	"tidemark/reports"
	weekpage "tidemark/reports/week"
)

func ServeCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "SQL over HTTP, for notebooks and a browser",
		Description: `POST /v1/sql answers the SQL in its body as an Arrow stream, or as CSV, JSON or
Parquet (Accept). docs/serve.md has parameters, statuses and limits. The page
at / needs a browser only. A token is in $TIDEMARK_TOKEN or --token-file.

Example:
  TIDEMARK_TOKEN=$(openssl rand -hex 16) tidemark serve --port 8765
  pa.ipc.open_stream(requests.post("http://127.0.0.1:8765/v1/sql", data=sql,
    headers={"Authorization": "Bearer " + token}, stream=True).raw).read_all()`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "host", Usage: "listen on `HOST`; others than this machine need a token and TLS", Value: "127.0.0.1"},
			&cli.IntFlag{Name: "port", Usage: "listen on `PORT`; 0 takes a free one", Value: 8765},
			&cli.StringFlag{Name: "published", Usage: "serve what is published in `DIR` or s3://bucket/prefix (default: the warehouse's .published)", EnvVars: []string{"TIDEMARK_PUBLISH"}},
			&cli.StringFlag{Name: "token-file", Usage: "let these ask: a name and a token in each line of `FILE`"},
			&cli.BoolFlag{Name: "no-token", Usage: "let everybody on this machine ask"},
			&cli.StringFlag{Name: "tls-cert", Usage: "serve HTTPS with the certificate in `FILE`"},
			&cli.StringFlag{Name: "tls-key", Usage: "and its key in `FILE`"},
			&cli.DurationFlag{Name: "timeout", Usage: "end a query after `60s`", Value: time.Minute},
			&cli.StringFlag{Name: "memory", Usage: "let a query take up to `2GB`", Value: "2GB"},
			&cli.IntFlag{Name: "workers", Usage: "run `N` queries at a time (default: one for each core)"},
			&cli.IntFlag{Name: "queue", Usage: "let `N` queries of one token wait", Value: 16},
			&cli.Int64Flag{Name: "max-rows", Usage: "cut an answer after `N` rows, and say so (0: never)"},
			&cli.StringFlag{Name: "max-bytes", Usage: "cut an answer after `4GB`, and say so", Value: "4GB"},
			kit.WarehouseFlag(), kit.QuietFlag(),
		},
		Action: runServe,
	}
}

func runServe(c *cli.Context) error {
	config, err := configOf(c)
	if err != nil {
		return err
	}
	certificate, err := certificateOf(c)
	if err != nil {
		return err
	}
	if err := serve.CheckListening(c.String("host"), len(config.Tokens), certificate != nil); err != nil {
		return err
	}
	if err := follow(c, &config); err != nil {
		return err
	}
	server, err := serve.New(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(c.String("host"), fmt.Sprint(c.Int("port"))))
	if err != nil {
		return errors.Join(hint.Errorf("serve: %w", err).Hint("take another --port, or --port 0 for a free one"), server.Shutdown(c.Context))
	}
	scheme := "http"
	if certificate != nil {
		listener, scheme = tls.NewListener(listener, certificate), "https"
	}
	kit.Tell(c, "SQL at %s://%s/v1/sql, a page at %s://%s/ (%s); Ctrl-C ends it", scheme, listener.Addr(), scheme, listener.Addr(), whoMayAsk(config))
	return serveUntilStopped(c, server, listener)
}

// follow fetches what is published in a bucket, if it is one that is to be served, and goes on doing so until the first
// signal.
func follow(c *cli.Context, config *serve.Config) error {
	at, is, err := kit.BucketOf(c, "published")
	if err != nil || !is {
		return err
	}
	follower, err := published.Follow(c.Context, at)
	if err != nil {
		return hint.Errorf("serve: %w", err).Hint("%s", hint.Of(err))
	}
	go follower.Run(c.Context, config.Tell)
	config.Published, config.Trouble = follower.Folder(), follower.Trouble
	return nil
}

// serveUntilStopped lets running queries end after the first signal; the second one ends them.
func serveUntilStopped(c *cli.Context, server *serve.Server, listener net.Listener) error {
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

// configOf checks every flag before anything is opened.
func configOf(c *cli.Context) (config serve.Config, err error) {
	if err := kit.NoArguments(c, "the SQL comes over HTTP; name the folder by --published"); err != nil {
		return config, err
	}
	if c.String("published") == published.Off {
		return config, hint.Misuse("serve: TIDEMARK_PUBLISH says that nothing is published").Hint("name the folder with --published DIR")
	}
	if port := c.Int("port"); port < 0 || port > 65535 {
		return config, hint.Misuse("serve: --port %d: not a port", port).Hint("--port 8765, or --port 0 for a free one")
	}
	if err := kit.PositiveFlags(c, "workers", "queue"); err != nil {
		return config, err
	}
	if c.Duration("timeout") <= 0 {
		return config, hint.Misuse("serve: --timeout %s: must be above 0", c.Duration("timeout")).Hint("--timeout 60s")
	}
	if c.Int64("max-rows") < 0 {
		return config, hint.Misuse("serve: --max-rows %d: must be 0 or above", c.Int64("max-rows")).Hint("0 cuts no answer")
	}
	memory, err := sizeOf(c, "memory")
	if err != nil {
		return config, err
	}
	mostBytes, err := sizeOf(c, "max-bytes")
	if err != nil {
		return config, err
	}
	tokens, err := tokensOf(c)
	return serve.Config{
		Published: published.Folder(c.String("warehouse"), c.String("published")), Tokens: tokens, MemoryBytes: memory, Timeout: c.Duration("timeout"),
		Workers: cmp.Or(c.Int("workers"), max(runtime.NumCPU(), 2)), Queue: c.Int("queue"), MostRows: c.Int64("max-rows"), MostBytes: mostBytes,
		Tell: func(format string, args ...any) { kit.Tell(c, format, args...) },
	}, err
}

// sizeOf is a size with its unit, or the flag's default.
func sizeOf(c *cli.Context, flag string) (int64, error) {
	size, isSize := deployment.Bytes(c.String(flag))
	const least, most = 1 << 20, 1 << 46 // bytes; beyond these a slip of the hand
	if !isSize || size < least || size > most {
		return 0, hint.Misuse("serve: --%s %s: not a size between 1 MiB and 64 TiB", flag, c.String(flag)).Hint("--%s 2GB", flag)
	}
	return int64(size), nil
}

// tokensOf takes tokens from a file or the environment, never from a flag, which other users of the machine could read.
func tokensOf(c *cli.Context) ([]serve.Token, error) {
	secret := os.Getenv("TIDEMARK_TOKEN")
	switch {
	case c.Bool("no-token") && c.IsSet("token-file"):
		return nil, kit.Exclusive(c, "no-token", "token-file")
	case c.Bool("no-token"):
		return nil, nil
	case c.IsSet("token-file"):
		text, err := kit.FileOf(c, "token-file")
		if err != nil {
			return nil, err
		}
		tokens, err := serve.ReadTokens(c.String("token-file"), string(text))
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

// certificateOf is nil without TLS.
func certificateOf(c *cli.Context) (*tls.Config, error) {
	if c.String("tls-cert") == "" && c.String("tls-key") == "" {
		return nil, nil
	}
	if c.String("tls-cert") == "" || c.String("tls-key") == "" {
		return nil, hint.Misuse("serve: --tls-cert and --tls-key go together")
	}
	pair, err := tls.LoadX509KeyPair(c.String("tls-cert"), c.String("tls-key"))
	if err != nil {
		return nil, hint.Errorf("serve: --tls-cert %s: %w", c.String("tls-cert"), err).Hint("both are PEM files, and the key is of the certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// ServedReport is what a worker calls for GET /v1/reports/...: the page of "tidemark report RUN", or of "tidemark report --service" as it was
// stored.
func ServedReport(ctx context.Context, db *sql.DB, page worker.Page, w io.Writer) error {
	if page.Service == "" {
		return reports.Write(ctx, db, reports.Options{RunIDs: []string{page.Run}, Version: kit.Version, GeneratedAt: now()}, w)
	}
	r, err := week.Stored(ctx, db, page.Service, page.Week)
	if err != nil {
		return err
	}
	return weekpage.Write(w, r, weekpage.Options{GeneratedAt: dateOf(r)})
}
