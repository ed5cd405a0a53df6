package kit

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/tables"
	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse"
)

// Of is the call of a verb whose flags are not in a struct yet.
func Of(c *cli.Context) *Call {
	return &Call{Context: c.Context, App: c.App, Args: c.Args(), Verb: c.Command.Name, Warehouse: c.String("warehouse"), Publish: c.String("publish"),
		Wait: c.Duration("wait"), Quiet: c.Bool("quiet"), CSV: c.Bool("csv"), JSON: c.Bool("json"), line: c}
}

func IsForPrograms(c *cli.Context) bool                        { return Of(c).IsForPrograms() }
func PrintTable(c *cli.Context, table analysis.Table) error    { return Of(c).PrintTable(table) }
func RowsFor(c *cli.Context) (tables.Writer, error)            { return Of(c).RowsFor() }
func PrintLine(c *cli.Context, format string, args ...any)     { Of(c).PrintLine(format, args...) }
func Tell(c *cli.Context, format string, args ...any)          { Of(c).Tell(format, args...) }
func Remark(c *cli.Context, format string, args ...any)        { Of(c).Remark(format, args...) }
func PrintForms(c *cli.Context, forms ...analysis.Table) error { return Of(c).PrintForms(forms...) }
func Gap(c *cli.Context)                                       { Of(c).Gap() }
func Messages(c *cli.Context) io.Writer                        { return Of(c).Messages() }
func RequireFlags(c *cli.Context, flags ...string) error       { return Of(c).Require(flags...) }
func NoArguments(c *cli.Context, todo string) error            { return Of(c).NoArguments(todo) }
func OneArgument(c *cli.Context, what string) (string, error)  { return Of(c).OneArgument(what) }
func OptionalArgument(c *cli.Context, what string) (string, error) {
	return Of(c).OptionalArgument(what)
}
func Exclusive(c *cli.Context, one, other string) error { return Of(c).Exclusive(one, other) }
func WarehouseWords(c *cli.Context) string              { return Of(c).WarehouseWords() }
func WithWarehouse(ctx context.Context, c *cli.Context, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	return Of(c).WithWarehouse(ctx, mode, use)
}
func Calculator(c *cli.Context, use func(context.Context, *warehouse.Warehouse) error) error {
	return Of(c).Calculator(use)
}
func WithWarehouseIfAny(c *cli.Context, use func(context.Context, *warehouse.Warehouse) error) error {
	return Of(c).WithWarehouseIfAny(use)
}
func PositiveFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.IsSet(flag) {
			if err := AtLeastOne[int64](flag)(c, c.Int64(flag)); err != nil {
				return err
			}
		}
	}
	return nil
}
func BytesOf(c *cli.Context, flag string) (into *float64, err error) {
	if c.IsSet(flag) {
		err = Size(flag, &into)(c, c.String(flag))
	}
	return into, err
}
func WarehouseFlag() cli.Flag                         { return new(Call).WarehouseFlag() }
func QuietFlag() cli.Flag                             { return new(Call).QuietFlag() }
func WithWarehouseFlags(flags ...cli.Flag) []cli.Flag { return new(Call).WarehouseFlags(flags...) }
func WithTableFlags(flags ...cli.Flag) []cli.Flag     { return new(Call).TableFlags(flags...) }
func DeploymentFlags(has ...cli.Flag) []cli.Flag      { return new(Deployment).Flags(has...) }
func GivenDeployment(c *cli.Context) (deployment.Deployment, error) {
	var d Deployment
	d.Flags()
	for _, f := range deployment.Fields {
		if c.IsSet(f.Flag) {
			if err := d.say(c.Command.Name, f, c.String(f.Flag), deployment.Engines); err != nil {
				return d.Said, err
			}
		}
	}
	return d.Said, nil
}
func DeploymentOf(c *cli.Context) (deployment.Deployment, bool, error) {
	said, err := GivenDeployment(c)
	if err != nil {
		return said, false, err
	}
	return (&Deployment{Said: said, modelFlag: "model"}).Named(Of(c))
}
