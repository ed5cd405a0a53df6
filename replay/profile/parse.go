package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/internal/yamlfile"
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
	root, err := yamlfile.Parse(content)
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

func (p *Profile) read(root *yamlfile.Node) error {
	var schema string
	err := yamlfile.Fields{
		"schema":          yamlfile.OneOf(&schema, Schema),
		"name":            yamlfile.Text(&p.Name),
		"description":     yamlfile.Text(&p.Description),
		"mode":            yamlfile.OneOf(&p.Mode, "open", "sessions"),
		"block_tokens":    yamlfile.Whole(&p.BlockTokens, 1, maxTokens),
		"duration":        yamlfile.Duration(&p.Duration),
		"sessions":        yamlfile.Whole(&p.Sessions, 1, maxTokens),
		"max_concurrency": yamlfile.Whole(&p.MaxConcurrency, 1, maxTokens),
		"arrivals":        p.Arrivals.read,
		"classes":         p.readClasses,
	}.ReadWith("", root, "schema", "name", "classes")
	if err != nil {
		return err
	}
	return p.checkArrivals(root)
}

// readClasses reads the classes, whose shares must add up to 1.
func (p *Profile) readClasses(where string, node *yamlfile.Node) error {
	if err := yamlfile.Each(p.addClass)(where, node); err != nil {
		return err
	}
	sum := 0.0
	for _, c := range p.Classes {
		sum += c.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return yamlfile.Errorf(node, "%s: shares add up to %.9g, not to 1", where, sum)
	}
	return nil
}

// addClass reads one more class.
func (p *Profile) addClass(where string, node *yamlfile.Node) error {
	var c Class
	if err := c.read(where, node); err != nil {
		return err
	}
	for _, other := range p.Classes {
		if other.Name == c.Name {
			return yamlfile.Errorf(node, "%s: class %q is there twice", where, c.Name)
		}
	}
	p.Classes = append(p.Classes, c)
	return nil
}

// checkArrivals requires arrivals, unless each class brings its own for being
// played alone.
func (p *Profile) checkArrivals(root *yamlfile.Node) error {
	if p.Arrivals.Process != "" {
		return nil
	}
	for _, c := range p.Classes {
		if c.Alone == nil || c.Alone.Arrivals.Process == "" {
			return yamlfile.Errorf(root, "arrivals: are missing")
		}
	}
	return nil
}

// Only is the profile with one of its classes, played alone. What the class
// says under alone replaces what the profile says.
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
