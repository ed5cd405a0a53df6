package week

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// Kept is what the making of a report worked out and need not work out again.
type Kept struct {
	demands    []keptDemand
	samples    []keptSamples
	capacities []keptCapacity
	sourceIDs  []int64 // that the report rests on
}

type keptDemand struct {
	service, week, key string
	sourceIDs          []int64
	demand             demand
}

type keptSamples struct {
	service, week, key string
	packed             []byte
}

type keptCapacity struct {
	key       string
	sourceIDs []int64
	document  []byte
}

// weeksWithSamples are the newest weeks of a service whose samples are kept: a few megabytes each.
const weeksWithSamples = 6

// Keep stores a report with its service file, and what was worked out on the way. An earlier report of the week is replaced.
func Keep(ctx context.Context, w *warehouse.Warehouse, f service.File, r *Report, k *Kept) error {
	document, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return w.Write(ctx, func(tx *warehouse.Tx) error {
		for _, d := range k.demands {
			text, err := json.Marshal(d.demand)
			if err != nil {
				return err
			}
			if err := tx.Exec(ctx, "insert or replace into raw.service_demands (service, week, demand_key, source_ids, document, samples) values (?, ?, ?, "+list(d.sourceIDs)+", ?, null)",
				d.service, d.week, d.key, string(text)); err != nil {
				return err
			}
		}
		for _, s := range k.samples {
			if err := tx.Exec(ctx, "update raw.service_demands set samples = ? where service = ? and week = ? and demand_key = ?", s.packed, s.service, s.week, s.key); err != nil {
				return err
			}
		}
		// Of weeks long ago a page is seldom made again.
		if err := tx.Exec(ctx, `update raw.service_demands set samples = null where service = ? and samples is not null and week <> ?
	and week not in (select week from raw.service_demands where service = ? and samples is not null order by week desc limit ?)`,
			r.Service, r.Basis.AnchorWeek, r.Service, weeksWithSamples); err != nil {
			return err
		}
		for _, c := range k.capacities {
			if err := tx.Exec(ctx, "insert or replace into raw.shape_capacities (capacity_key, source_ids, document) values (?, "+list(c.sourceIDs)+", ?)",
				c.key, string(c.document)); err != nil {
				return err
			}
		}
		if err := tx.Exec(ctx, `insert or replace into raw.service_files (service, file_sha256, path, content, source_ids, used)
select ?, ?, ?, ?, [], coalesce(max(used), 0) + 1 from raw.service_files where service = ?`, f.Service, f.SHA256, f.Path, f.Text, f.Service); err != nil {
			return err
		}
		return tx.Exec(ctx, "insert or replace into raw.service_weeks (service, week, source_ids, file_sha256, document) values (?, ?, "+list(k.sourceIDs)+", ?, ?)",
			r.Service, r.Week, f.SHA256, string(document))
	})
}

func (k *Kept) hasDemand(week string) bool {
	return slices.ContainsFunc(k.demands, func(d keptDemand) bool { return d.week == week })
}

// keptDemand is the demand of a week as an earlier report kept it. A source that has grown since is another source now; where nothing of the week is new
// in it, the demand is kept again as that one's.
func (m *maker) keptDemand(week service.Week, key string, ids []int64) (d demand, isKept bool, err error) {
	var document string
	var had []any
	err = m.conn.QueryRowContext(m.ctx, "select document::varchar, source_ids from raw.service_demands where service = ? and week = ? and demand_key = ?",
		m.file.Service, week.String(), key).Scan(&document, &had)
	if err == sql.ErrNoRows {
		return d, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(document), &d)
	}
	if err != nil || len(had) != len(ids) {
		return d, false, err
	}
	now, isNew := map[int64]int64{}, false
	for i, id := range had {
		now[id.(int64)] = ids[i]
		isNew = isNew || id != ids[i]
	}
	if isNew {
		d.rename(now)
		m.kept.demands = append(m.kept.demands, keptDemand{m.file.Service, week.String(), key, ids, d})
	}
	return d, true, nil
}

// rename gives the sources other numbers.
func (d *demand) rename(now map[int64]int64) {
	for _, h := range d.Hours {
		for i, id := range h.SourceIDs {
			h.SourceIDs[i] = now[id]
		}
		slices.Sort(h.SourceIDs)
	}
	for i, c := range d.Copies {
		d.Copies[i].SourceID, d.Copies[i].Of = now[c.SourceID], now[c.Of]
	}
}

// alternatives of the week: as they were kept, if nothing that they follow from has changed. Ranking them asks DuckDB for the curves of sixty
// deployments, which takes seconds and half a gigabyte.
func (m *maker) alternatives() (all []Alternative, err error) {
	key, err := m.alternativesKey()
	if err != nil {
		return nil, err
	}
	var document string
	err = m.conn.QueryRowContext(m.ctx, "select document::varchar from raw.shape_capacities where capacity_key = ?", key).Scan(&document)
	if err == nil {
		err = json.Unmarshal([]byte(document), &all)
		return all, err
	}
	if err != sql.ErrNoRows {
		return nil, err
	}
	if all, err = Alternatives(m.ctx, m.db, m.report, m.file.Deployment, m.answer.Shape.Requests, m.fleetOf(m.ctx)); err != nil {
		return nil, err
	}
	made, err := json.Marshal(all)
	m.kept.capacities = append(m.kept.capacities, keptCapacity{key, m.keptShapes().sourceIDs, made})
	return all, err
}

// alternativesKey names all that alternatives follow from: what they read of the report, the sample of its busiest hour, the catalogue and its SQL. Figures
// of production are not in it: DuckDB adds them up in another order each time, and their last digits differ.
func (m *maker) alternativesKey() (string, error) {
	catalogue, err := warehouse.CatalogueState(m.ctx, m.conn)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, demandVersion, queries.Stamp(), catalogue)
	r := m.report
	sums := r.Sums
	sums.TPOTRatio, sums.LowTPOTRatio, sums.HighTPOTRatio = nil, nil, nil
	for _, part := range []any{r.Hours, sums, r.Basis, r.Scaling, r.SLO, r.Price, r.Replicas, r.Deployment, r.TimeZone, m.file.Deployment, m.file.Routing, m.answer.Shape} {
		if err := json.NewEncoder(h).Encode(part); err != nil {
			return "", err
		}
	}
	return "alternatives " + hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// list is an SQL list of numbers.
func list(ids []int64) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ", ") + "::bigint[]"
}

// Stored is the report of a week as it was made last. A service or week without one is a misuse.
func Stored(ctx context.Context, db *sql.DB, name, week string) (*Report, error) {
	var document string
	err := db.QueryRowContext(ctx, "select document::varchar from staging.service_weeks where service = ? and week = ?", name, week).Scan(&document)
	if errors.Is(err, sql.ErrNoRows) {
		var known sql.NullString
		err := db.QueryRowContext(ctx, "select string_agg(service || ' ' || week, ', ' order by service, week) from staging.service_weeks").Scan(&known)
		if err != nil {
			return nil, err
		}
		return nil, hint.Misuse("no report of %s in week %s", name, week).
			Hint("there is one of %s; tidemark report --service FILE makes one", cmp.Or(known.String, "no service"))
	}
	if err != nil {
		return nil, err
	}
	r := &Report{}
	return r, json.Unmarshal([]byte(document), r)
}
