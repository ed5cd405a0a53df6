package read

// The verb schema lists what can be asked about. answers.Schema reads it from the comments that the warehouse keeps, and internal/cli/shell
// lays it out.
//
// Exit codes: 0; 2 for a name that nothing has, and for a word that nothing has.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/shell"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

type schemaFlags struct {
	kit.Call
	stable bool
	search string
}

func SchemaCommand() *cli.Command {
	f := &schemaFlags{}
	return &cli.Command{
		Name:      "schema",
		Usage:     "what there is to ask, by question; or the columns of a relation",
		ArgsUsage: "[RELATION | MACRO | GROUP | SCHEMA]",
		Description: `Without a name: where to start, and the groups of relations. A name may lack
its schema: "tpot_gap" is marts.tpot_gap. --csv and --json list everything.

Examples:
  tidemark schema traces
  tidemark schema marts.tpot_gap
  tidemark schema --search max-num-seqs`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "search", Usage: "what has `WORD` in its name or meaning: knobs, flags, metrics, relations, macros, columns", Destination: &f.search},
			&cli.BoolFlag{Name: "stable", Usage: "the columns that are promised to stay, in the snapshot and in the lake", Destination: &f.stable},
		),
		Action: f.Do(f.run),
	}
}

func (f *schemaFlags) run() error {
	name, err := f.OptionalArgument("relation")
	if err != nil {
		return err
	}
	if f.IsGiven("search") {
		return f.find(name)
	}
	if f.stable {
		return printStable(&f.Call, name)
	}
	return f.asking(func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := answers.Schema(ctx, w.DB(), name)
		switch {
		case err != nil:
			return err
		case f.IsForPrograms():
			return f.PrintTable(table)
		}
		return describe(&f.Call, name, table)
	})
}

// asking gives a function the warehouse, or where there is none an empty one in memory: it has the same relations.
func (f *schemaFlags) asking(use func(context.Context, *warehouse.Warehouse) error) error {
	if _, err := os.Stat(f.Warehouse); !errors.Is(err, fs.ErrNotExist) || f.IsGiven("warehouse") {
		return f.Answering(use)
	}
	w, err := warehouse.Empty(f.Context)
	return kit.LeftOpen(w, err, func(w *warehouse.Warehouse) error { return w.Explain(use(f.Context, w)) })
}

// find prints what has the word that is searched for.
func (f *schemaFlags) find(name string) error {
	if name != "" || f.stable {
		return hint.Misuse("schema: --search looks through everything").Hint("leave out %s", cmp.Or(name, "--stable"))
	}
	return f.asking(func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := answers.Search(ctx, w.DB(), f.search, f.words())
		if err != nil || f.IsForPrograms() {
			return f.PrintAnswer(table, err)
		}
		const most = 25
		more := len(table.Rows) - most
		table.Rows = table.Rows[:min(most, len(table.Rows))]
		width := terminal.Width(f.App.Writer)
		var b strings.Builder
		for _, row := range kit.RowsOf(table) {
			fmt.Fprintf(&b, "%s (%s)\n", row.Text("name"), row.Text("kind"))
			kit.Labelled(&b, "    is", 10, shortened(row.Text("meaning"), 300), width)
			kit.Labelled(&b, "    in", 10, shortened(row.Text("where"), 150), width)
		}
		if more > 0 {
			fmt.Fprintf(&b, "and %s; --csv has them all\n", show.Things(more, "more", "more"))
		}
		_, err = io.WriteString(f.App.Writer, b.String())
		return err
	})
}

// words are the flags of all verbs; one that several have alike is one word.
func (f *schemaFlags) words() (all []answers.Word) {
	place := map[string]int{}
	for _, command := range f.App.Commands {
		for _, flag := range command.Flags {
			documented, is := flag.(cli.DocGenerationFlag)
			if !is {
				continue
			}
			name, usage := "--"+flag.Names()[0], strings.ReplaceAll(documented.GetUsage(), "`", "")
			if at, isThere := place[name+usage]; isThere {
				all[at].Where += ", " + command.Name
				continue
			}
			place[name+usage] = len(all)
			all = append(all, answers.Word{Name: name, Where: command.Name, Meaning: usage})
		}
	}
	return all
}

// shortened is a text of one line, cut between words.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return text[:strings.LastIndex(text[:most], " ")] + " ..."
}

// describe prints for people what Schema found: the overview, a group or a schema, or one
// relation.
func describe(c *kit.Call, name string, table answers.Table) error {
	if name == "" {
		shell.WriteGuide(c.App.Writer, terminal.Width(c.App.Writer), table)
		for _, next := range []string{"schema GROUP|RELATION", "schema macros", "sql --examples"} { // a line each, to be copied
			c.Tell("next: tidemark %s", next)
		}
		return nil
	}
	if group, is := answers.Group(name); is {
		c.Remark("%s", group.Question)
	}
	if table.Comment != "" {
		c.Remark("%s: %s", table.Name, strings.ReplaceAll(table.Comment, "\n", " "))
		c.Gap()
	}
	if table.Place("relation") < 0 {
		return c.PrintList(table, "--csv has them all")
	}
	shell.WriteList(c.App.Writer, terminal.Width(c.App.Writer), table)
	if _, is := answers.Group(name); is {
		c.PrintLine("EXAMPLES (tidemark sql --example NAME)")
		shell.WriteExamples(c.App.Writer, terminal.Width(c.App.Writer), name)
	}
	return nil
}

// printStable lists the promised columns, all or those of one relation. For people the whole list has a row for each relation, because
// with one for each column it would have a thousand.
func printStable(c *kit.Call, relation string) error {
	table := kit.TableOf("relation", "column", "type", "meaning")
	brief, places := kit.TableOf("relation", "columns"), map[string]int{}
	for _, row := range queries.Stable() {
		if _, bare, _ := strings.Cut(row[0], "."); relation != "" && relation != row[0] && relation != bare {
			continue
		}
		table.Rows = append(table.Rows, []any{row[0], row[1], row[2], row[3]})
		place, is := places[row[0]]
		if !is {
			places[row[0]] = len(brief.Rows)
			brief.Rows = append(brief.Rows, []any{row[0], row[1]})
			continue
		}
		brief.Rows[place][1] = brief.Rows[place][1].(string) + ", " + row[1]
	}
	switch {
	case len(table.Rows) == 0:
		return hint.Misuse("schema --stable: nothing is promised of %s", relation).Hint("tidemark schema --stable lists all that is")
	case c.IsForPrograms():
		return c.PrintTable(table)
	case relation == "":
		c.Tell("types and meanings: --stable RELATION, or --csv")
		return c.PrintList(brief, "--csv has them all")
	}
	columns := kit.TableOf("column", "type", "meaning")
	for _, row := range table.Rows {
		columns.Rows = append(columns.Rows, row[1:])
	}
	return c.PrintList(columns, "--csv has them all")
}
