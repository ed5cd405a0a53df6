package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"

	"go.yaml.in/yaml/v3"
)

// Load reads the profile in a file.
func Load(path string) (*Profile, error) {
	content, err := userfile.ReadAll(path)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return Parse(path, content)
}

// Parse reads a profile; name is what errors call it.
func Parse(name string, content []byte) (*Profile, error) {
	p := &Profile{Mode: "open", BlockTokens: 64}
	root, err := parsed(content)
	if err == nil {
		err = p.read(root)
	}
	if err != nil {
		return nil, hint.Errorf("profile %s: %w", name, err).
			Hint(`see every key with "tidemark profile keys", one that is right with "tidemark profile show spoc-coding --yaml"`)
	}
	sum := sha256.Sum256(content)
	p.SHA256 = hex.EncodeToString(sum[:])
	return p, nil
}

func (p *Profile) read(root *yaml.Node) error {
	var schema string
	err := fields{
		"schema":          text(&schema),
		"name":            text(&p.Name),
		"description":     text(&p.Description),
		"mode":            oneOf(&p.Mode, "open", "sessions"),
		"block_tokens":    count(&p.BlockTokens),
		"duration":        lasting(&p.Duration),
		"sessions":        count(&p.Sessions),
		"max_concurrency": count(&p.MaxConcurrency),
		"arrivals":        p.Arrivals.read,
		"classes":         each(p.addClass),
	}.read("", root)
	switch {
	case err != nil:
		return err
	case schema != Schema:
		return &wrong{root.Line, fmt.Sprintf("schema: %q: must be %s", schema, Schema)}
	case p.Name == "":
		return &wrong{root.Line, "name: is missing"}
	case len(p.Classes) == 0:
		return &wrong{root.Line, "classes: are missing"}
	}
	if err := p.checkShares(); err != nil {
		return err
	}
	return p.checkArrivals(root)
}

// addClass reads one more class.
func (p *Profile) addClass(where string, node *yaml.Node) error {
	c := Class{line: node.Line}
	if err := c.read(where, node); err != nil {
		return err
	}
	for _, other := range p.Classes {
		if other.Name == c.Name {
			return wrongAt(node, "%s: class %q is there twice", where, c.Name)
		}
	}
	p.Classes = append(p.Classes, c)
	return nil
}

func (p *Profile) checkShares() error {
	sum := 0.0
	for _, c := range p.Classes {
		sum += c.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return &wrong{p.Classes[0].line, fmt.Sprintf("classes: shares add up to %.9g, not to 1", sum)}
	}
	return nil
}

// checkArrivals wants to know when sessions arrive; not where every class says it for itself.
func (p *Profile) checkArrivals(root *yaml.Node) error {
	if p.Arrivals.Process != "" {
		return nil
	}
	for _, c := range p.Classes {
		if c.Alone == nil || c.Alone.Arrivals.Process == "" {
			return &wrong{root.Line, "arrivals: are missing"}
		}
	}
	return nil
}

// Only is the profile with one of its classes, alone.
func (p *Profile) Only(class string) (*Profile, error) {
	var names []string
	for _, c := range p.Classes {
		if c.Name != class {
			names = append(names, c.Name)
			continue
		}
		only := *p
		if c.Alone != nil {
			if c.Alone.Arrivals.Process != "" {
				only.Arrivals = c.Alone.Arrivals
			}
			if c.Alone.Sessions > 0 {
				only.Sessions = c.Alone.Sessions
			}
			if c.Alone.MaxConcurrency > 0 {
				only.MaxConcurrency = c.Alone.MaxConcurrency
			}
		}
		c.Share = 1
		only.Classes = []Class{c}
		return &only, nil
	}
	return nil, hint.Errorf("profile %s: no class %q", p.Name, class).Hint("its classes are %v", names)
}
