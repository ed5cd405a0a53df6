// Package pages makes the reports that the server answers with. It joins the server, which knows no reports, with reports, which know no server.
package pages

import (
	"context"
	"database/sql"
	"io"
	"os"
	"strconv"
	"time"

	"tidemark/analysis/week"
	"tidemark/internal/serve"
	"tidemark/internal/serve/worker"
	"tidemark/reports"
	weekpage "tidemark/reports/week"
)

// Reporter is what a worker calls for GET /v1/reports/...: the page of "tidemark report RUN", or of "tidemark report --service" as it was
// stored.
func Reporter(version string) worker.Reporter {
	return func(ctx context.Context, db *sql.DB, page worker.Page, w io.Writer) error {
		if page.Service == "" {
			return reports.Write(ctx, db, reports.Options{RunIDs: []string{page.Run}, Version: version, GeneratedAt: Now()}, w)
		}
		r, err := week.Stored(ctx, db, page.Service, page.Week)
		if err != nil {
			return err
		}
		return weekpage.Write(w, r, weekpage.Options{GeneratedAt: DateOf(r)})
	}
}

// In lists the pages of a folder, the newest first.
func In(folder string) func() ([]serve.Report, error) {
	return func() (found []serve.Report, err error) {
		pages, err := reports.PagesIn(folder)
		for _, page := range pages {
			found = append(found, serve.Report(page))
		}
		return found, err
	}
}

// Now is the date on a report. SOURCE_DATE_EPOCH fixes it, so that the same data
// give the same bytes.
func Now() time.Time {
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}

// DateOf is the date on a week's page: the week's end, because the same data give the same bytes; SOURCE_DATE_EPOCH sets another one.
func DateOf(r *week.Report) time.Time {
	if os.Getenv("SOURCE_DATE_EPOCH") != "" || len(r.Hours) == 0 {
		return Now()
	}
	return r.Hours[0].Start.Add(time.Duration(week.Lasting(r.Hours) * float64(time.Hour))).UTC()
}
