package kit

// The flags that name a deployment: GPU, model, formats, degrees of parallelism, engine
// and its limits. They are made from the one list in internal/deployment, so that a new
// field becomes a flag of every verb without a change here.
//
// In every verb --model is the name that a server answers to, and --catalog-model a model of the catalogue.

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

// Deployment is what the flags say of a deployment.
type Deployment struct {
	Said        deployment.Deployment // what is not said is empty
	environment string                // the file that names it, where the verb takes one
}

// Flags are a flag for each field of a deployment, for a verb that is asked about one and sends nothing. Flags that the verb
// already has for the same thing are left out.
func (d *Deployment) Flags(has ...cli.Flag) []cli.Flag {
	return WithOldNames(d.flags(deployment.Engines, has))
}

// WithOldNames are the flags of a verb that sends nothing. Version 0.1 called --catalog-model --model there.
func WithOldNames(flags []cli.Flag) []cli.Flag {
	for _, flag := range flags {
		if text, is := flag.(*cli.StringFlag); is && text.Name == "catalog-model" {
			text.Aliases = []string{"model"}
		}
	}
	return flags
}

// ServedFlags are the same for a verb that also has --model, the name that a server answers to.
func (d *Deployment) ServedFlags(has ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{&cli.StringFlag{Name: "environment", Usage: "JSON `FILE` that names what follows", Destination: &d.environment}},
		d.flags(servedEngines(), has)...)
}

func (d *Deployment) flags(engines []string, has []cli.Flag) (flags []cli.Flag) {
	var names []string // asked once: urfave's Names is slow
	for _, flag := range has {
		names = append(names, flag.Names()[0])
	}
	for _, f := range deployment.Fields {
		flag := &cli.StringFlag{Name: f.Flag, Usage: f.Usage, Action: func(line *cli.Context, text string) error { return d.say(line.Command.Name, f, text, engines) }}
		if f.Name == "engine" && len(engines) > len(deployment.Engines) {
			flag.Usage = "`NAME` of the engine: " + strings.Join(engines, ", ") + " (default: the server is asked)"
		}
		if !slices.Contains(names, flag.Name) {
			flags = append(flags, flag)
		}
	}
	return flags
}

// say takes over the value of one flag.
func (d *Deployment) say(verb string, f deployment.Field, text string, engines []string) error {
	if err := f.Set(&d.Said, text); err != nil {
		return hint.Misuse("%s: --%s: %w", verb, f.Flag, err)
	}
	d.Said = d.Said.Normal()
	switch {
	case f.Name == "engine_version" && text != "" && !strings.ContainsAny(text, "0123456789"):
		return hint.Misuse("%s: --engine-version %s: no number in it", verb, text).Hint("write it as 0.20.0, or leave it out where it is not known")
	case d.Said.Engine != "" && !slices.Contains(engines, d.Said.Engine):
		return hint.Misuse("%s: no engine named %q: known are %s", verb, d.Said.Engine, strings.Join(engines, ", "))
	}
	return nil
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

// Named is the deployment that the flags name; is is false where both GPU and model are missing.
func (d *Deployment) Named(c *Call) (named deployment.Deployment, is bool, err error) {
	if d.Said.GPU == "" && d.Said.CatalogModel == "" {
		if flag := d.more(); flag != "" {
			err = hint.Misuse("%s: --%s is of a deployment, and none is named", c.Verb, flag).Hint("name it with --gpu and --catalog-model, or leave --%s out", flag)
		}
		return d.Said, false, err
	}
	if d.Said.GPU == "" || d.Said.CatalogModel == "" {
		return d.Said, false, hint.Misuse("%s: --gpu and --catalog-model go together", c.Verb).
			Hint(`tidemark sql "select gpu from seeds.gpus"; tidemark sql "select model from seeds.models"`)
	}
	return d.Said, true, nil
}

// Environment is what a run is on by --environment or the flags, not yet
// checked against the catalogue; nil for a draft.
func (d *Deployment) Environment(c *Call) (environment *deployment.Deployment, source string, err error) {
	if d.environment == "" {
		named, isNamed, err := d.Named(c)
		if err != nil || !isNamed {
			return nil, "", err
		}
		if named.Engine == engines.OpenAI.Name { // says how to speak to the server, and nothing of its speed
			named.Engine = ""
		}
		return &named, "flags", nil
	}
	switch flag := d.more(); {
	case d.Said.GPU != "" || d.Said.CatalogModel != "":
		return nil, "", hint.Misuse("--environment and --gpu, --catalog-model exclude each other")
	case flag != "":
		return nil, "", hint.Misuse("%s: --environment and --%s exclude each other", c.Verb, flag).Hint("the file names the whole deployment")
	}
	named, err := EnvironmentFile(d.environment)
	if err != nil {
		return nil, "", fmt.Errorf("environment %s: %w", d.environment, err)
	}
	return &named, "file", nil
}

// more is the first flag that is said of a deployment beside its GPU and model. --engine also says how to speak to a server, and
// --max-model-len also chooses requests: both stand alone.
func (d *Deployment) more() string { return d.First("gpu", "catalog_model", "engine", "max_model_len") }

// First is the flag of the first field that is said of a deployment, without some fields; empty: none is said.
func (d *Deployment) First(except ...string) string {
	for _, f := range deployment.Fields {
		if !slices.Contains(except, f.Name) && f.Get(d.Said) != nil {
			return f.Flag
		}
	}
	return ""
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
