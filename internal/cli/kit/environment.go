package kit

// The flags that name a deployment: GPU, model, formats, degrees of parallelism, engine
// and its limits. They are made from the one list in internal/deployment, so that a new
// field becomes a flag of every verb without a change here.
//
// A trap with names: in the calculators --model is the catalogue's model and
// --catalog-model an alias. In verbs that speak to a server --model is the name
// that the server answers to, and the catalogue's model is --catalog-model alone.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/replay/engines"
)

// DeploymentFlags are a flag for each field of a deployment, for a verb that is asked about one. The catalogue's model is
// --model there: no server has another name for it. Flags that the verb already has for the same thing are left out.
func DeploymentFlags(has ...cli.Flag) (flags []cli.Flag) {
	var names []string // asked once: urfave's Names is slow
	for _, flag := range has {
		names = append(names, flag.Names()[0])
	}
	for _, f := range deployment.Fields {
		flag := &cli.StringFlag{Name: f.Flag, Usage: f.Usage}
		if f.Name == "catalog_model" {
			flag.Name, flag.Aliases = "model", []string{f.Flag}
		}
		if !slices.Contains(names, flag.Name) {
			flags = append(flags, flag)
		}
	}
	return flags
}

// EnvironmentFlags are the same for a verb whose --model is the name that a server answers to.
func EnvironmentFlags(has ...cli.Flag) []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{Name: "environment", Usage: "JSON `FILE` that names what follows"}}
	for _, flag := range DeploymentFlags(has...) {
		switch flag := flag.(*cli.StringFlag); {
		case len(flag.Aliases) > 0:
			flag.Name, flag.Aliases = flag.Aliases[0], nil
		case flag.Name == "engine":
			flag.Usage = "`NAME` of the engine: " + strings.Join(servedEngines(), ", ") + " (default: the server is asked)"
		}
		flags = append(flags, flag)
	}
	return flags
}

func hasFlag(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(flag cli.Flag) bool { return flag.Names()[0] == name })
}

// GivenDeployment reads the flags above; what is not given stays empty.
func GivenDeployment(c *cli.Context) (d deployment.Deployment, err error) {
	for _, f := range deployment.Fields {
		text := fmt.Sprint(c.Value(f.Flag)) // --max-model-len is a number where it also chooses requests
		if !c.IsSet(f.Flag) && (text == "" || f.IsNumber()) {
			continue
		}
		if err := f.Set(&d, text); err != nil {
			return d, hint.Misuse("%s: --%s: %w", c.Command.Name, f.Flag, err)
		}
	}
	if version := d.EngineVersion; version != "" && !strings.ContainsAny(version, "0123456789") {
		return d, hint.Misuse("%s: --engine-version %s: no number in it", c.Command.Name, version).Hint("write it as 0.20.0, or leave it out where it is not known")
	}
	d = d.Normal()
	known := deployment.Engines
	if modelFlag(c) == "catalog-model" { // a verb that speaks to a server
		known = servedEngines()
	}
	if d.Engine != "" && !slices.Contains(known, d.Engine) {
		return d, hint.Misuse("%s: no engine named %q: known are %s", c.Command.Name, d.Engine, strings.Join(known, ", "))
	}
	return d, nil
}

// servedEngines are those that a server can be: engines of the bandwidth model, and those that the load engine has a file for.
func servedEngines() []string {
	all := slices.Clone(deployment.Engines)
	for _, name := range engines.Names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// DeploymentOf is the deployment that the flags name; ok is false where both GPU and
// model are missing.
func DeploymentOf(c *cli.Context) (d deployment.Deployment, ok bool, err error) {
	d, err = GivenDeployment(c)
	if err != nil || d.GPU == "" && d.CatalogModel == "" {
		return d, false, err
	}
	if d.GPU == "" || d.CatalogModel == "" {
		return d, false, hint.Misuse("%s: --gpu and --%s go together", c.Command.Name, modelFlag(c)).
			Hint(`tidemark sql "select gpu from seeds.gpus"; tidemark sql "select model from seeds.models"`)
	}
	return d, true, nil
}

// modelFlag is what a verb calls the model of the catalogue.
func modelFlag(c *cli.Context) string {
	if hasFlag(c.Command.Flags, "catalog-model") {
		return "catalog-model"
	}
	return "model"
}

// NamedEnvironment is what a run is on by --environment or the flags, not yet
// checked against the catalogue; nil for a draft.
func NamedEnvironment(c *cli.Context) (environment *deployment.Deployment, source string, err error) {
	d, named, err := DeploymentOf(c)
	path := c.String("environment")
	switch {
	case err != nil || path == "" && !named:
		return nil, "", err
	case path == "":
		if d.Engine == engines.OpenAI.Name { // says how to speak to the server, and nothing of its speed
			d.Engine = ""
		}
		return &d, "flags", nil
	case named:
		return nil, "", hint.Misuse("--environment and --gpu, --catalog-model exclude each other")
	}
	if d, err = EnvironmentFile(path); err != nil {
		return nil, "", fmt.Errorf("environment %s: %w", path, err)
	}
	return &d, "file", nil
}

// EnvironmentFile refuses unknown names: a misspelt one would be the default.
func EnvironmentFile(path string) (d deployment.Deployment, err error) {
	file, err := userfile.Open(path)
	if err != nil {
		return d, err
	}
	defer file.Close()
	return deployment.Read(file)
}
