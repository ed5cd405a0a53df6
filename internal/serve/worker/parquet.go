package worker

import (
	"fmt"
	"io"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// answerParquet lets DuckDB write the answer into a pipe, the only file that it may open from here on. The query stands
// alone as one statement that reads before it is put into "copy"; so it cannot end the parentheses around it.
func (s *session) answerParquet(errand Errand, out *framer) error {
	if err := limitFiles(1); err != nil {
		return err
	}
	alone, err := s.prepare(errand.SQL)
	if err != nil {
		return err
	}
	if mapping.PreparedStatementType(alone) != mapping.StatementTypeSelect {
		return &Failure{Kind: BadQuery, Text: "an explanation has no Parquet form", Hint: "ask for text/csv"}
	}
	if errand.AskedRows > 0 {
		return &Failure{Kind: BadQuery, Text: "max_rows has no meaning for Parquet: the file could not say that it is cut", Hint: "write a limit into the query"}
	}
	statement, err := s.prepareCopy(errand)
	if err != nil {
		return err
	}
	if err := bind(statement, errand); err != nil {
		return err
	}
	to := &headFirst{to: out}
	rows, last, err := s.pour(statement, errand, to)
	if err != nil {
		return err
	}
	if errand.MostRows > 0 && rows > errand.MostRows {
		return tooManyRows(errand.MostRows) // without the last bytes the file cannot be read
	}
	if _, err := to.Write(last); err != nil {
		return err
	}
	return out.end(rows)
}

// pour runs the statement and passes on what it writes. After an error of either side the other one is not waited for:
// DuckDB keeps the pipe open after a failure, and waits for ever to write into a full one. The process ends anyway.
func (s *session) pour(statement mapping.PreparedStatement, errand Errand, out *headFirst) (rows int64, last []byte, err error) {
	copied, poured := make(chan error, 1), make(chan error, 1)
	go func() {
		var err error
		rows, err = s.copy(statement)
		_ = s.pipe[1].Close() // so that the other end comes to its end
		copied <- err
	}()
	go func() {
		var err error
		last, err = s.passOn(errand, out)
		poured <- err
	}()
	select {
	case err = <-copied:
		if err != nil {
			_ = s.pipe[0].Close()
			<-poured // no two may write frames
			return 0, nil, err
		}
		err = <-poured
	case err = <-poured:
		if err == nil {
			err = <-copied
		}
	}
	return rows, last, err
}

func (s *session) prepareCopy(errand Errand) (mapping.PreparedStatement, error) {
	query := strings.TrimRight(errand.SQL, "; \t\r\n")
	if errand.MostRows > 0 {
		query = fmt.Sprintf("from (\n%s\n) limit %d", query, errand.MostRows+1)
	}
	text := fmt.Sprintf("copy (\n%s\n) to '%s' (format parquet, compression zstd, use_tmp_file false)", query, s.pipePath())
	var statement mapping.PreparedStatement
	if mapping.Prepare(s.connection, text, &statement) == mapping.StateError {
		return statement, failureOf(mapping.PrepareError(statement))
	}
	return statement, nil
}

func (s *session) copy(statement mapping.PreparedStatement) (rows int64, err error) {
	var result mapping.Result
	defer mapping.DestroyResult(&result)
	if mapping.ExecutePrepared(statement, &result) == mapping.StateError {
		return 0, failureOf(mapping.ResultError(&result))
	}
	return int64(mapping.RowsChanged(&result)), nil
}

// passOn passes the bytes on, but keeps the last of them back until it is known that the answer is whole: a file of
// Parquet ends with its index and cannot be read without it. The first bytes are kept back too: they come before the
// first row, which may be an error.
func (s *session) passOn(errand Errand, out *headFirst) (last []byte, err error) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := s.pipe[0].Read(buffer)
		if err == io.EOF {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		const magic = 4 // bytes
		if len(last) > magic {
			if _, err := out.Write(last); err != nil {
				return nil, err
			}
			last = last[:0]
		}
		last = append(last, buffer[:n]...)
		if errand.MostBytes > 0 && out.to.sent > errand.MostBytes {
			return nil, tooManyBytes(errand.MostBytes)
		}
		if err := out.to.pause(); err != nil {
			return nil, err
		}
	}
}
