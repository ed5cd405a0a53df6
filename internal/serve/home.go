package serve

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/serve/worker"
	"tidemark/internal/show"
)

// Report is a page of the folder that the server was given.
type Report struct {
	File, Title string
	At          time.Time
}

// home is GET /v1/home: what there is to read, the newest first.
type home struct {
	Sections []*section `json:"sections"`
}

type section struct {
	Name  string `json:"name"`
	SQL   string `json:"sql,omitempty"` // asks for all of it
	All   int    `json:"all"`           // how many there are
	Items []item `json:"items"`
}

type item struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	At    string `json:"at,omitempty"`   // when, with the zone's offset
	Href  string `json:"href,omitempty"` // the page that shows it
}

// sections in the order of the page, and the query behind each.
var sections = []section{
	{Name: "Services", SQL: "from marts.service_weeks order by week desc, service"},
	{Name: "Runs", SQL: "from marts.runs order by started_at desc"},
	{Name: "Answers", SQL: "from marts.answers where verb <> 'report' order by answered_at desc"},
	{Name: "Studies", SQL: "from marts.configurations order by finished_at desc, study, place"},
	{Name: "Decisions", SQL: "from marts.decisions order by decided_at desc"},
	{Name: "Searches over settings", SQL: "from marts.trials order by source_name, point"},
}

// homeQuery has a row for each of the newest five items of a section, with figures that are written for people here.
const homeQuery = `
with listed as (
    select 'Services' as section, service || ', ' || week as title, sentence as note, service, week, week as newest
    from marts.service_weeks
    union all by name
    select
        'Runs' as section,
        coalesce(nullif(name, ''), run_id) as title,
        case when has_failed then 'failed' when not is_valid then 'invalid' end as note,
        run_id,
        origin,
        coalesce(source_name, '') || coalesce(' on ' || measured_on, '') as about,
        started_at as happened_at,
        p50_tpot_s,
        predicted_tpot_s,
        strftime(started_at at time zone 'UTC', '%Y%m%d%H%M%S') as newest
    from marts.runs
    union all by name
    select
        'Answers' as section,
        verb || ' of ' || source_name as title,
        replace(outcome, '_', ' ') as note,
        origin,
        searched_on || if(replicas > 1, ', ' || replicas || ' replicas', '') as about,
        answered_at as happened_at,
        rate_per_s,
        rate_low_per_s,
        rate_high_per_s,
        strftime(answered_at at time zone 'UTC', '%Y%m%d%H%M%S') as newest
    from marts.answers
    where verb <> 'report'
    union all by name
    select
        'Studies' as section,
        study as title,
        rtrim(any_value(headline), '.') as note,
        count(*) || if(count(*) = 1, ' configuration', ' configurations') as about,
        max(finished_at) as happened_at,
        strftime(max(finished_at) at time zone 'UTC', '%Y%m%d%H%M%S') as newest
    from marts.configurations
    group by study
    union all by name
    select
        'Decisions' as section,
        status || ': ' || run_id as title,
        reason as note,
        origin,
        decided_by as about,
        decided_at as happened_at,
        strftime(decided_at at time zone 'UTC', '%Y%m%d%H%M%S') as newest
    from marts.decisions
    union all by name
    select
        'Searches over settings' as section,
        source_name as title,
        count(*) || if(count(*) = 1, ' trial, ', ' trials, ') || count(*) filter (is_unbeaten) || ' unbeaten' as note,
        source_name as newest
    from marts.trials
    group by source_name
)

select *, count(*) over (partition by section) as all_of_it
from listed
qualify row_number() over (partition by section order by newest desc nulls last, title) <= 5`

// listed is a row of homeQuery.
type listed struct {
	Section, Title, Note, Service, Week, Origin, About string
	RunID                                              string    `json:"run_id"`
	HappenedAt                                         time.Time `json:"happened_at"`
	All                                                int       `json:"all_of_it"`
	TPOT                                               float64   `json:"p50_tpot_s"`
	Predicted                                          float64   `json:"predicted_tpot_s"`
	Rate                                               *float64  `json:"rate_per_s"`
	Low                                                *float64  `json:"rate_low_per_s"`
	High                                               *float64  `json:"rate_high_per_s"`
}

// words are what one reads below the title.
func (l listed) words() string {
	var said []string
	add := func(text string) {
		if text != "" {
			said = append(said, text)
		}
	}
	if l.Rate != nil {
		text := show.Figures(*l.Rate) + " requests/s"
		if l.High != nil { // no low end: at the slow end of the model no rate is small enough
			low := 0.0
			if l.Low != nil {
				low = *l.Low
			}
			text += " (" + show.Figures(low) + " to " + show.Figures(*l.High) + ")"
		}
		add(text)
	} else {
		add(l.Note)
	}
	if l.TPOT > 0 {
		text := "TPOT " + show.Duration(l.TPOT)
		if l.Predicted > 0 {
			text += ", predicted " + show.Duration(l.Predicted)
		}
		add(text)
	}
	add(strings.TrimSuffix(l.About, "."))
	if l.Origin != "measured" { // or a reader would think that it was
		add(l.Origin)
	}
	return strings.Join(said, "; ")
}

// serveHome answers GET /v1/home.
func (s *Server) serveHome(w http.ResponseWriter, r *http.Request, asker string) {
	began := time.Now()
	h, err := s.home(r.Context(), asker)
	if err != nil {
		s.refuse(w, s.explain(r.Context(), err), began)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(h)
}

func (s *Server) home(ctx context.Context, asker string) (h home, err error) {
	rows, err := s.collect(ctx, asker, worker.Errand{SQL: homeQuery, Form: worker.JSON})
	if err != nil {
		return h, err
	}
	var all []listed
	if err := json.Unmarshal(rows.body.Bytes(), &all); err != nil {
		return h, err
	}
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(b.HappenedAt.Compare(a.HappenedAt), cmp.Compare(b.Week, a.Week), cmp.Compare(a.Title, b.Title))
	})
	if files := s.files(); len(files) > 0 {
		reports := &section{Name: "Reports", All: len(files)}
		for _, file := range files {
			reports.Items = append(reports.Items, item{Title: file.Title, Note: file.File, At: show.Instant(file.At.UTC()), Href: s.linked("files/" + url.PathEscape(file.File))})
		}
		h.Sections = append(h.Sections, reports)
	}
	for _, one := range sections {
		for _, l := range all {
			if l.Section != one.Name {
				continue
			}
			i := item{Title: l.Title, Note: l.words()}
			if !l.HappenedAt.IsZero() {
				i.At = show.Instant(l.HappenedAt.UTC())
			}
			switch {
			case l.RunID != "":
				i.Href = s.linked("runs/" + url.PathEscape(l.RunID))
			case l.Service != "":
				i.Href = s.linked("services/" + url.PathEscape(l.Service) + "/" + url.PathEscape(l.Week))
			}
			one.All, one.Items = l.All, append(one.Items, i)
		}
		if one.All > 0 {
			h.Sections = append(h.Sections, &one)
		}
	}
	return h, nil
}

// files are the pages of the folder; a folder that is gone has none.
func (s *Server) files() []Report {
	if s.config.Reports == nil {
		return nil
	}
	found, err := s.config.Reports()
	if err != nil {
		s.config.Tell("reports: %v", err)
	}
	return found
}

// serveFile answers GET /v1/reports/files/FILE with a page of the folder, and with nothing else that lies there.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, _ string) {
	name := pathValue(r, "file")
	if !slices.ContainsFunc(s.files(), func(one Report) bool { return one.File == name }) {
		(&problem{status: http.StatusNotFound, text: "no such page in the folder", hint: "GET /v1/home lists them"}).write(w)
		return
	}
	text, err := os.ReadFile(filepath.Join(s.config.ReportsFolder, name))
	if err != nil {
		(&problem{status: http.StatusNotFound, text: "the page cannot be read", hint: "GET /v1/home lists them"}).write(w)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", reportPolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
}

// A browser that follows a link can send no token. So the links of /v1/home carry a key, which is good for one page, for a day, and while
// this server runs. The token itself stands in no address.
const linkLasts = 24 * time.Hour

// linkSecret signs links.
func linkSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// linked is the address of a report, with a key where this server asks for a token.
func (s *Server) linked(report string) string {
	path := "/v1/reports/" + report
	if len(s.config.Tokens) == 0 {
		return path
	}
	until := strconv.FormatInt(time.Now().Add(linkLasts).Unix(), 10)
	return path + "?until=" + until + "&key=" + s.signature(path, until)
}

func (s *Server) signature(path, until string) string {
	mac := hmac.New(sha256.New, s.linkSecret)
	_, _ = mac.Write([]byte(path + "\n" + until))
	return hex.EncodeToString(mac.Sum(nil))
}

// linkedOrAsked lets in who has a token, or a link from here.
func (s *Server) linkedOrAsked(next func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	asked := s.asked(next)
	return func(w http.ResponseWriter, r *http.Request) {
		until, key := r.URL.Query().Get("until"), r.URL.Query().Get("key")
		ends, err := strconv.ParseInt(until, 10, 64)
		if err == nil && time.Now().Unix() < ends && hmac.Equal([]byte(key), []byte(s.signature(r.URL.EscapedPath(), until))) {
			next(w, r, "link")
			return
		}
		asked(w, r)
	}
}
