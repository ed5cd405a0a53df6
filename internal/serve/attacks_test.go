//go:build duckdb_arrow

package serve_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
)

// attack is one hostile request and the statuses that are a right answer to it.
type attack struct {
	name string
	send func() (int, string)
	want []int
}

// prey is what may be read, written and reached if the walls do not hold.
type prey struct {
	*served
	canary   string       // a file with a secret in it
	writable string       // a folder in which nothing may appear
	network  string       // an address that counts connections
	reached  atomic.Int64 // these connections
	hurried  *served      // stops a query after half a second; only queries without an end go there
}

const canarySecret = "canary-7f3a9c51e2"

// Three hundred attacks on one server: each gets its status, none reads, writes or reaches anything outside, and after each group
// the server answers. Of those that start a worker each day sees every third.
func TestAttacks(t *testing.T) {
	p := newPrey(t)
	before := p.outside(t)
	count := 0
	for _, group := range []struct {
		name          string
		attacks       []attack
		startsWorkers bool
	}{
		{"files", p.fileAttacks(), true},
		{"writing", p.writeAttacks(), true},
		{"settings", p.settingAttacks(), true},
		{"names", p.pathQuestions(), true},
		{"size", p.sizeAttacks(), true},
		{"bodies", p.bodyAttacks(t), false},
		{"tokens", p.tokenAttacks(), false},
		{"paths", p.pathAttacks(t), false},
		{"wire", p.wireAttacks(t), false},
	} {
		t.Run(group.name, func(t *testing.T) {
			every := 1
			if group.startsWorkers {
				every = proof.Many(3, 1)
			}
			var fired []attack
			for i := 0; i < len(group.attacks); i += every {
				fired = append(fired, group.attacks[i])
			}
			p.fire(t, fired)
			if status, answer := text(t, p.ask(t, "select 42 as x", "Accept", asCSV)); status != 200 || answer != "x\n42\n" {
				t.Fatalf("after the attacks select 42 gives %d %q", status, answer)
			}
		})
		count += len(group.attacks)
	}
	if count < 300 {
		t.Errorf("%d attacks, want 300", count)
	}
	if after := p.outside(t); after != before {
		t.Errorf("the attacks changed what is outside:\n%s\nwas\n%s", after, before)
	}
	if n := p.reached.Load(); n > 0 {
		t.Errorf("the attacks reached the network %d times", n)
	}
}

func newPrey(t *testing.T) *prey {
	p := &prey{canary: filepath.Join(t.TempDir(), "canary.csv"), writable: t.TempDir()}
	must.Do(t, os.WriteFile(p.canary, []byte("a,b\n"+canarySecret+",1\n"), 0o600))
	t.Setenv("HOME", p.writable)
	t.Setenv("CANARY", canarySecret)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	p.network = listener.Addr().String()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			p.reached.Add(1)
			connection.Close()
		}
	}()
	p.served = serving(t, func(c *serve.Config) { c.Timeout, c.MemoryBytes = 1500*time.Millisecond, 128<<20 })
	p.hurried = serving(t, func(c *serve.Config) { c.Timeout, c.MemoryBytes = 500*time.Millisecond, 128<<20 })
	return p
}

// outside is all that a query could have changed.
func (p *prey) outside(t *testing.T) string {
	var b strings.Builder
	for _, folder := range []string{"/", ".", p.writable, p.folder, filepath.Dir(p.canary)} {
		entries := must.Get(os.ReadDir(folder))(t)
		fmt.Fprintf(&b, "%s:", folder)
		for _, entry := range entries {
			fmt.Fprintf(&b, " %s", entry.Name())
		}
	}
	snapshot := must.Get(os.ReadFile(filepath.Join(p.folder, serve.SnapshotName)))(t)
	fmt.Fprintf(&b, "\n%x", sha256.Sum256(snapshot))
	return b.String()
}

// fire sends four at a time. No answer may hold the secret, a line of /etc/passwd, or a path of the server.
func (p *prey) fire(t *testing.T, attacks []attack) {
	var group sync.WaitGroup
	turns := make(chan struct{}, 4)
	for _, a := range attacks {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			status, answer := a.send()
			if !slices.Contains(a.want, status) {
				t.Errorf("%s: got %d %.200q, want %v", a.name, status, answer, a.want)
			}
			for _, leak := range []string{canarySecret, "root:x:0", p.folder, p.writable, secret, otherSecret} {
				if strings.Contains(answer, leak) && !strings.Contains(a.name, leak) {
					t.Errorf("%s: the answer has %q in it: %.300q", a.name, leak, answer)
				}
			}
			if status >= 400 && strings.Contains(answer, "{") {
				var said map[string]string
				if err := json.Unmarshal([]byte(answer), &said); err != nil || said["error"] == "" {
					t.Errorf("%s: %d with %.200q, want an error in JSON", a.name, status, answer)
				}
			}
		})
	}
	group.Wait()
}

// sql is an attack by a query, in CSV.
func (p *prey) sql(query string, want ...int) attack {
	return attack{query, func() (int, string) { return p.answerTo(p.try(query, "Accept", asCSV)) }, want}
}

// request is an attack by a request that Go's client can make.
func (p *prey) request(name, method, path, body string, headers []string, want ...int) attack {
	return attack{name, func() (int, string) { return p.answerTo(p.do(method, path, strings.NewReader(body), headers...)) }, want}
}

// answerTo is status 0 where the connection was broken.
func (p *prey) answerTo(response *http.Response, err error) (int, string) {
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// raw sends bytes that no client would, and reads the status line and what follows. A request without its end closes its side.
func (p *prey) raw(t *testing.T, name, request string, want ...int) attack {
	isWhole := strings.Contains(request, "Connection: close") && (strings.HasSuffix(request, "\r\n\r\n") || name == "length and chunks")
	return attack{name, func() (int, string) {
		connection, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, request)
		if !isWhole {
			_ = connection.(*net.TCPConn).CloseWrite()
		}
		answer, _ := io.ReadAll(connection)
		var version string
		var status int
		_, _ = fmt.Sscan(string(answer), &version, &status)
		_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
		return status, string(body)
	}, want}
}

func (p *prey) fileAttacks() (attacks []attack) {
	paths := []string{p.canary, "/etc/passwd", "file://" + p.canary, "../../../../../../../../etc/passwd", "/proc/self/environ", "/dev/fd/3", "/dev/stdin",
		"http://" + p.network + "/x.csv", "s3://bucket/x.parquet", filepath.Dir(p.canary) + "/*", filepath.Join(p.folder, serve.SnapshotName)}
	functions := []string{"read_text", "read_csv", "read_json", "read_parquet", "read_blob", "sniff_csv", "parquet_metadata", "read_ndjson_objects"}
	for place, path := range paths {
		for i := range 3 {
			function := functions[(3*place+i)%len(functions)]
			attacks = append(attacks, p.sql(fmt.Sprintf("from %s('%s')", function, path), 400))
		}
		attacks = append(attacks,
			p.sql(fmt.Sprintf("from '%s'", path), 400),
			p.sql(fmt.Sprintf("select (select string_agg(content, '') from read_text(['%s', '%s']))", path, p.canary), 400),
			p.sql(fmt.Sprintf("explain analyze from read_blob('%s')", path), 400),
		)
	}
	attacks = append(attacks, p.sql("from glob('/*')", 400), p.sql("from glob('"+filepath.Dir(p.canary)+"/*')", 400))
	for _, form := range []string{asArrow, asJSON, asParquet} {
		attacks = append(attacks, p.request("read_text as "+form, "POST", "/v1/sql", "from read_text('"+p.canary+"')", []string{"Accept", form}, 400))
	}
	named := `{"sql": "from read_text($path)", "parameters": {"path": "` + p.canary + `"}}`
	return append(attacks, p.request("a path as parameter", "POST", "/v1/sql", named, []string{"Content-Type", asJSON}, 400))
}

func (p *prey) writeAttacks() (attacks []attack) {
	file := filepath.Join(p.writable, "written")
	for place, statement := range []string{
		"copy (select 1) to 'FILE'", "copy (select 1) to 'FILE' (format parquet)", "copy raw.runs to 'FILE'", "copy raw.runs from 'FILE'", "copy (select 1) to '/dev/stdout'",
		"export database 'FILE'", "import database 'FILE'", "attach 'FILE'", "attach 'FILE' as x (read_only)", "attach ':memory:' as x", "detach tidemark", "use memory",
		"create table raw.made as select 1", "create table memory.main.made as select 1", "create temp table made as select 1", "create view marts.made as select 1",
		"create macro made() as 1", "create schema made", "create sequence made", "create type made as integer", "create index made on raw.runs (run_id)",
		"insert into raw.runs default values", "update raw.runs set run_id = 'x'", "delete from raw.runs", "truncate raw.runs", "drop table raw.runs", "drop schema marts cascade",
		"alter table raw.runs add column x integer", "comment on table raw.runs is 'x'", "checkpoint", "force checkpoint", "vacuum", "analyze",
		"begin transaction", "commit", "rollback", "prepare x as select 1", "execute x", "deallocate x",
	} {
		statement = strings.ReplaceAll(statement, "FILE", file)
		attacks = append(attacks, p.sql(statement, 400))
		if place%2 == 0 {
			attacks = append(attacks, p.sql("select 1; "+statement, 400), p.sql(statement+"; select 1", 400))
		}
	}
	for _, query := range []string{
		"explain analyze copy (select 1) to 'FILE'", "explain (analyze) copy (select 1) to 'FILE'", "explain /* */ analyze copy (select 1) to 'FILE'",
		"/* a */ -- b\n copy (select 1) to 'FILE'", "explain analyze export database 'FILE'", "explain analyze delete from raw.runs", "explain analyze insert into raw.runs default values",
		"select 1) to 'FILE' (format csv); --", "select 1\n) to 'FILE' (format parquet) --", "select 1 /*", "select $$1", "with x as (delete from raw.runs returning *) from x",
	} {
		query = strings.ReplaceAll(query, "FILE", file)
		attacks = append(attacks, p.sql(query, 400), p.request(query+" as Parquet", "POST", "/v1/sql", query, []string{"Accept", asParquet}, 400))
	}
	return attacks
}

func (p *prey) settingAttacks() (attacks []attack) {
	for setting, value := range map[string]string{
		"enable_external_access": "true", "lock_configuration": "false", "memory_limit": "'100GB'", "threads": "64", "allowed_paths": "['/etc/passwd']",
		"allowed_directories": "['/']", "temp_directory": "'" + p.writable + "'", "autoload_known_extensions": "true", "allow_unsigned_extensions": "true",
		"home_directory": "'" + p.writable + "'", "profiling_output": "'" + p.writable + "/profile'", "log_query_path": "'" + p.writable + "/log'",
	} {
		form := []string{"set %s = %s", "set global %s = %s", "pragma %s = %s"}[len(setting)%3]
		attacks = append(attacks, p.sql(fmt.Sprintf(form, setting, value), 400), p.sql("reset "+setting, 400))
	}
	for _, statement := range []string{
		"install httpfs", "load httpfs", "force install httpfs", "install 'http://NET/x.duckdb_extension'", "load '" + p.canary + "'", "install spatial from community",
		"update extensions", "create secret s (type s3, key_id 'a', secret 'b')", "create persistent secret s (type s3)", "drop secret s", "call enable_logging()",
		"call pragma_version()", "pragma enable_profiling", "pragma enable_logging", "pragma force_checkpoint", "set variable x = 1", "call dbgen(sf = 1)",
		"from which_secret('s3://x', 's3')", "from postgres_scan('host=127.0.0.1', 'a', 'b')", "from sqlite_scan('FILE', 'x')", "from iceberg_scan('FILE')", "from delta_scan('FILE')",
		"attach 'postgres:host=127.0.0.1' as x (type postgres)", "from st_read('FILE')", "select getenv('CANARY')", "select system('id')", "from shell('id')", "from query('copy (select 1) to ''FILE''')",
		"from query('select 1; drop table raw.runs')", "select load_extension('x')", "select write_blob('FILE', 'x')", "select pg_read_file('/etc/passwd')",
	} {
		statement = strings.NewReplacer("NET", p.network, "FILE", filepath.Join(p.writable, "written")).Replace(statement)
		attacks = append(attacks, p.sql(statement, 400))
	}
	return attacks
}

// pathQuestions ask for what the server's files are called, which fire looks for, and for what other queries were.
func (p *prey) pathQuestions() (attacks []attack) {
	for _, query := range []string{
		"from duckdb_databases()", "from duckdb_settings()", "pragma database_list", "show databases", "show all tables", "from duckdb_logs()",
		"from duckdb_temporary_files()", "from duckdb_memory()", "from duckdb_variables()", "select * from duckdb_tables()", "from pragma_storage_info('raw.runs')",
		"select current_setting('secret_directory'), current_setting('extension_directory'), current_setting('temp_directory')", "from duckdb_prepared_statements()",
		"from duckdb_external_file_cache()", "from pragma_platform()", "from duckdb_log_contexts()",
	} {
		attacks = append(attacks, p.sql(query, 200))
	}
	return append(attacks, p.sql("from duckdb_extensions()", 400), p.sql("from duckdb_secrets()", 400))
}

// sizeAttacks ask for more than there is. 1.5 s and 128 MiB is what a query may take here.
func (p *prey) sizeAttacks() (attacks []attack) {
	const deadline, memory, wrong, cut = 408, 413, 400, 0
	deep := func(n int, open, inner, shut string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	for _, query := range []string{
		"select repeat('x', 4000000000)", "select list(n) from range(1000000000) as numbers (n)", "select n from range(1000000000) as numbers (n) order by hash(n)",
		"select array_agg(repeat('x', 1000000)) from range(100000)", "select string_agg(n::varchar, ',') from range(1000000000) as numbers (n)", "select range(1000000000)",
		"select count(*) from (select distinct hash(n) from range(1000000000) as numbers (n))", "select histogram(n) from range(1000000000) as numbers (n)",
		"select repeat(repeat('x', 100000), 100000)", "select lpad('x', 2000000000, 'y')", "select list_transform(range(100000000), lambda x: x + 1)",
	} {
		attacks = append(attacks, p.sql(query, memory, deadline, wrong))
	}
	for _, query := range []string{
		"select count(*) from range(100000000) as a (n), range(100000000) as b (n) where a.n * b.n = 7",
		"with recursive r (n) as (select 1 union all select n + 1 from r) select max(n) from r",
		"select sum(sin(a.n * b.n)) from range(10000000) as a (n), range(100000) as b (n)",
		"select max(list_sum(range(n))) from range(1000000) as numbers (n)",
	} {
		attacks = append(attacks, attack{query, func() (int, string) { return p.answerTo(p.hurried.try(query, "Accept", asCSV)) }, []int{deadline, memory}})
	}
	for _, query := range []string{
		"select " + deep(20000, "(", "1", ")"), "select " + deep(20000, "[", "1", "]"), "select " + deep(20000, "abs(", "1", ")"), "select " + strings.Repeat("- ", 100000) + "1",
		deep(5000, "select * from (", "select 1", ")"), "select " + strings.Repeat("not ", 100000) + "true", "select 1" + strings.Repeat(" + 1", 100000),
		"select 1 where 1 in (" + strings.Repeat("1,", 200000) + "1)", "select '" + strings.Repeat("x", 1<<20-20) + "'", "select 1" + strings.Repeat(" union all select 1", 20000),
		"select " + strings.Repeat("1,", 100000) + "1", "select " + strings.Repeat("9", 100000), "select 1 as \"" + strings.Repeat("n", 500000) + "\"",
		"select '" + strings.Repeat("a", 50000) + "' similar to '(a+)+$'", "select regexp_matches(repeat('a', 100000), '((a+)+)+$')",
		"select case" + strings.Repeat(" when 1 = 2 then 3", 50000) + " end", strings.Repeat("with x as (select 1) ", 1000) + "select 1",
	} {
		a := p.sql(query, 200, wrong, deadline, memory, cut)
		a.name = fmt.Sprintf("%.40s… of %d bytes", query, len(query))
		attacks = append(attacks, a)
	}
	for _, query := range []string{"select error('x')", "select 1 / 0", "select 'x'::integer", "select 1::tinyint + 1000", "select sqrt(-1)", "select [1][99999999999]", "select unnest(range(-5))"} {
		attacks = append(attacks, p.sql(query, 200, wrong))
	}
	return attacks
}

func (p *prey) bodyAttacks(t *testing.T) (attacks []attack) {
	for _, body := range []string{
		"", "{", "[]", "null", `"x"`, "1", "{}", `{"sql": null}`, `{"sql": 1}`, `{"sql": ["select 1"]}`, `{"sql": {"a": 1}}`, `{"sql": ""}`, `{"sql": "select 1"} {"sql": "select 2"}`,
		`{"sql": "select 1", "file": "/etc/passwd"}`, `{"sql": "select 1", "max_rows": 0}`, `{"sql": "select 1", "max_rows": -1}`, `{"sql": "select 1", "max_rows": 1e99}`, `{"sql": "select 1", "max_rows": "x"}`,
		`{"sql": "select 1", "parameters": 1}`, `{"sql": "select 1", "parameters": "x"}`, `{"sql": "select 1", "parameters": {"a": 1}}`, `{"sql": "select $a", "parameters": {}}`, `{"sql": "select $a"}`,
		`{"sql": "select $a", "parameters": {"a": {"b": 1}}}`, `{"sql": "select $a", "parameters": {"a": [[1]]}}`, `{"sql": "select $a", "parameters": {"a": [1, "x"]}}`, `{"sql": "select $a", "parameters": {"a": 1e999}}`,
		`{"sql": "select ?", "parameters": [1, 2]}`, `{"sql": "select ?, ?", "parameters": [1]}`, `{"sql": "select $9999999999", "parameters": [1]}`,
		`{"sql": "select $a", "parameters": {"a": ` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}}`, strings.Repeat(`{"sql":`, 50000), "{\"sql\": \"select '\xff'\"}", "{\"sql\": \"select 1\\u0000\"}",
	} {
		attacks = append(attacks, p.request(fmt.Sprintf("JSON %.60s", body), "POST", "/v1/sql", body, []string{"Content-Type", asJSON}, 400))
	}
	for _, body := range []string{"select '\xff\xfe'", "\xef\xbb", "select \xc0\xaf", "\x00", "select 1\x00; drop table raw.runs", " \n\t ", "-- nothing", ";", ";;;", "select", "\u202eselect 1"} {
		attacks = append(attacks, p.sql(body, 400))
	}
	many := map[string]any{}
	for i := range 2000 {
		many[fmt.Sprintf("p%d", i)] = i
	}
	manyText, _ := json.Marshal(map[string]any{"sql": "select $p1", "parameters": many})
	injected, _ := json.Marshal(map[string]any{"sql": "select count(*) as n from raw.runs where run_id = $run", "parameters": map[string]any{"run": "x' or '1' = '1'; drop table raw.runs; --"}})
	return append(attacks,
		p.request("2,000 parameters", "POST", "/v1/sql", string(manyText), []string{"Content-Type", asJSON}, 400),
		attack{"SQL in a parameter stays text", func() (int, string) {
			status, answer := p.answerTo(p.try(string(injected), "Content-Type", asJSON, "Accept", asCSV))
			if answer != "n\n0\n" {
				t.Errorf("SQL in a parameter gives %q, want 0 rows", answer)
			}
			return status, answer
		}, []int{200}},
		p.request("a body of 2 MiB", "POST", "/v1/sql", "select '"+strings.Repeat("x", 2<<20)+"'", nil, 413),
		p.request("a body of 2 MiB of JSON", "POST", "/v1/sql", `{"sql": "`+strings.Repeat("x", 2<<20)+`"}`, []string{"Content-Type", asJSON}, 413),
		p.request("a compressed body", "POST", "/v1/sql", "\x1f\x8b\x08", []string{"Content-Encoding", "gzip"}, 415),
		p.request("an unknown form", "POST", "/v1/sql", "select 1", []string{"Accept", "text/html"}, 406),
		p.request("a form that is no form", "POST", "/v1/sql", "select 1", []string{"Accept", ";;;,,,/"}, 406),
		p.request("a form of quality 0", "POST", "/v1/sql", "select 1", []string{"Accept", "text/csv;q=0"}, 406),
		p.request("max_rows for Parquet", "POST", "/v1/sql", `{"sql": "select 1", "max_rows": 5}`, []string{"Content-Type", asJSON, "Accept", asParquet}, 400),
	)
}

func (p *prey) tokenAttacks() (attacks []attack) {
	for _, header := range []string{
		"", "Bearer", "Bearer ", "Bearer x", "Bearer " + secret[1:], "Bearer " + secret + "x", "Bearer " + strings.ToUpper(secret), "Basic " + secret, secret, "Bearer" + secret,
		"Bearer " + secret + "," + secret, "Bearer null", "Bearer undefined", "Bearer *", "Bearer alice", "Bearer alice " + secret, "Bearer " + strings.Repeat("a", 8000), "Bearer ' or 1 = 1 --", "Digest " + secret,
	} {
		attacks = append(attacks, p.request("Authorization: "+header, "POST", "/v1/sql", "select 1", []string{"Authorization", header}, 401))
	}
	for _, path := range []string{"/", "/v1/schema", "/v1/runs", "/v1/reports/runs/one", "/v1/reports/services/s/2026-W47", "/metrics", "/nothing", "/v1/schema?token=" + secret, "/v1/runs?access_token=" + secret, "/healthz/../metrics"} {
		attacks = append(attacks, p.request("without a token "+path, "GET", path, "", []string{"Authorization", ""}, 401))
	}
	return append(attacks,
		p.request("a cookie", "GET", "/v1/runs", "", []string{"Authorization", "", "Cookie", "token=" + secret}, 401),
		p.request("another site's page", "POST", "/v1/sql", "select 1", []string{"Origin", "https://evil.example"}, 403),
		p.request("another site's page, by its fetch metadata", "POST", "/v1/sql", "select 1", []string{"Sec-Fetch-Site", "cross-site"}, 403),
		p.request("another site's page that reads", "GET", "/v1/runs", "", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403),
		p.request("another site's page that reads a report", "GET", "/v1/reports/runs/one", "", []string{"Sec-Fetch-Site", "cross-site"}, 403),
		p.request("another site's page that reads figures of the server", "GET", "/metrics", "", []string{"Origin", "https://evil.example"}, 403),
		p.request("another site's page that leads here", "GET", "/", "", []string{"Sec-Fetch-Site", "cross-site"}, 200),
		p.request("a page without a name", "POST", "/v1/sql", "select 1", []string{"Origin", "null"}, 403),
	)
}

func (p *prey) pathAttacks(t *testing.T) (attacks []attack) {
	for _, path := range []string{
		"/etc/passwd", "/../etc/passwd", "/v1/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/v1//sql", "/V1/SQL", "/v1/sql/", "/v1/reports", "/v1/reports/runs", "/v1/reports/runs/",
		"/.git/config", "/latest.duckdb", "/debug/pprof/", "/debug/vars", "/%00", "/v1/sql%00", "/\\..\\..\\etc\\passwd", "/v1/reports/runs/a/b", "/v1/reports/runs/../../../etc/passwd", "/" + strings.Repeat("a", 5000),
	} {
		attacks = append(attacks, p.raw(t, "GET "+path, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+secret+"\r\nConnection: close\r\n\r\n", 301, 307, 400, 404, 405))
	}
	for _, run := range []string{"nothing", "..%2f..%2f..%2fetc%2fpasswd", "%27%20or%20%271%27=%271", "%3Cscript%3E", "one%00", "%ff%fe", "one;drop", strings.Repeat("a", 5000)} {
		attacks = append(attacks, p.request("the report of "+run, "GET", "/v1/reports/runs/"+run, "", nil, 404, 408))
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "PROPFIND", "X"} {
		attacks = append(attacks, p.request(method+" /v1/sql", method, "/v1/sql", "select 1", nil, 405))
	}
	return append(attacks,
		p.request("POST /v1/schema", "POST", "/v1/schema", "", nil, 405), p.request("DELETE /v1/runs", "DELETE", "/v1/runs", "", nil, 405), p.request("POST /", "POST", "/", "", nil, 405),
		p.request("a week's report", "GET", "/v1/reports/services/s/2026-W47", "", nil, 404),
		p.raw(t, "CONNECT", "CONNECT "+p.network+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+secret+"\r\nConnection: close\r\n\r\n", 400, 404, 405),
		p.raw(t, "a proxy's request", "GET http://"+p.network+"/ HTTP/1.1\r\nHost: "+p.network+"\r\nConnection: close\r\n\r\n", 401),
	)
}

func (p *prey) wireAttacks(t *testing.T) (attacks []attack) {
	post := "POST /v1/sql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\nConnection: close\r\n"
	for name, request := range map[string]string{
		"no HTTP": "hello\r\n\r\n", "HTTP/9": "GET / HTTP/9.9\r\n\r\n", "no host": "GET /healthz HTTP/1.1\r\n\r\n", "two hosts": "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"a header without colon": "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n", "a space in a header's name": "GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", "a zero byte in a header": "GET / HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n",
		"a line that is folded": "GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n " + secret + "x\r\nConnection: close\r\n\r\n",
		"a header of 1 MB":      "GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", "20,000 headers": "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 20000) + "\r\n",
		"a negative length": post + "Content-Length: -5\r\n\r\nselect 1", "two lengths": post + "Content-Length: 8\r\nContent-Length: 9\r\n\r\nselect 1",
		"an unknown coding": post + "Transfer-Encoding: gzip\r\n\r\nselect 1", "a broken chunk": post + "Transfer-Encoding: chunked\r\n\r\nzz\r\nselect 1\r\n0\r\n\r\n",
		"an endless chunk": post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nselect 1\r\n", "a body that ends early": post + "Content-Length: 100\r\n\r\nselect 1",
		"TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		attacks = append(attacks, p.raw(t, name, request, 0, 400, 401, 408, 431, 501, 505))
	}
	attacks = append(attacks,
		p.raw(t, "length and chunks", post+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nselect 1\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200, 400),
		p.raw(t, "a header in the run's name", "GET /v1/reports/runs/one%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+secret+"\r\nConnection: close\r\n\r\n", 404, 408),
		attack{"a header in a column's name", func() (int, string) {
			response, err := p.try("select 1 as \"a\r\nSet-Cookie: a=b\"", "Accept", asCSV)
			if err == nil && response.Header.Get("Set-Cookie") != "" {
				t.Error("a column's name became a header")
			}
			return p.answerTo(response, err)
		}, []int{200}},
		attack{"a header in an error's trailer", func() (int, string) {
			response, err := p.try("select case when n > 500000 then error(E'x\\r\\nSet-Cookie: a=b') end from range(1000000) as numbers (n)", "Accept", asCSV)
			status, answer := p.answerTo(response, err)
			if err == nil && (response.Trailer.Get("Set-Cookie") != "" || strings.ContainsAny(response.Trailer.Get("Tidemark-Error"), "\r\n")) {
				t.Error("an error became a header")
			}
			return status, answer
		}, []int{200, 400}},
	)
	// Clients that send their request a byte at a time, or not to its end, hold a connection and nothing else.
	for i := range 40 {
		connection := must.Get(net.Dial("tcp", p.addr))(t)
		t.Cleanup(func() { connection.Close() })
		_, _ = io.WriteString(connection, []string{"POST /v1/sql HT", post + "Content-Le", post + "Content-Length: 1000\r\n\r\nsel"}[i%3])
	}
	return attacks
}
