package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// A model that the catalogue lacks, from a user's file. Go only finds and reads the files; what their keys mean is in SQL
// (macros.model_config, macros.model_problems). Next to config.json two more files matter: hf_quant_config.json, where
// ModelOpt writes how it quantized, and the index of the weights, whose total size checks the parameters that were derived: more than 3 % off
// means that the config was misread, and then nothing is predicted.

// ReadModelConfig reads a model from its config.json, or from the folder of a checkpoint, and returns the text that a Deployment takes as its
// model. SQL reads the keys (macros.checkpoint), so that the catalogue and a user's file are read alike. A missing key is an error that
// names the keys that were tried. A checkpoint whose weights are not as large as its config says is an error too.
func ReadModelConfig(ctx context.Context, db *sql.DB, path string) (string, error) {
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = filepath.Join(path, "config.json")
	}
	config, err := jsonFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint.Errorf("model %s: there is no such file", file).
			Hint("name a config.json, the folder of a checkpoint, or a model of the catalogue")
	}
	if err != nil {
		return "", fmt.Errorf("model %s: %w", file, err)
	}
	var quantization, total any
	if beside, err := jsonFile(filepath.Join(filepath.Dir(file), "hf_quant_config.json")); err == nil {
		quantization = string(beside)
	}
	if beside, err := jsonFile(filepath.Join(filepath.Dir(file), "model.safetensors.index.json")); err == nil {
		total = totalSize(beside)
	}
	var problems string
	var read sql.Null[string]
	err = db.QueryRowContext(ctx, `
select
    array_to_string(checkpoint.problems, '; '),
    case when len(checkpoint.problems) = 0 then macros.model_text(name, checkpoint.config) end
from (select ?::varchar as name, macros.checkpoint(?::varchar, ?::varchar, ?::double) as checkpoint)`,
		modelName(file), string(config), quantization, total).Scan(&problems, &read)
	if err != nil {
		return "", fmt.Errorf("model %s: %w", file, err)
	}
	if problems != "" {
		return "", hint.Errorf("model %s: %s", file, problems).
			Hint("a Hugging Face config.json has these keys; the known families are in queries/macros/architectures.sql")
	}
	return read.V, nil
}

// maxConfigBytes is the longest JSON file that is read. The index of a large checkpoint has 10 MB, so 64 MiB leaves room; a longer file is cut
// there and then is not JSON, which is an error.
const maxConfigBytes = 64 << 20

// jsonFile reads one JSON object.
func jsonFile(path string) ([]byte, error) {
	file, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfigBytes))
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return nil, hint.Errorf("not a JSON object").Hint("check where it came from")
	}
	return text, nil
}

// totalSize is the size of all weights that an index states, bytes; nil if it does not.
func totalSize(index []byte) any {
	var size struct {
		Metadata struct {
			TotalSize *float64 `json:"total_size"`
		} `json:"metadata"`
	}
	if json.Unmarshal(index, &size) != nil || size.Metadata.TotalSize == nil {
		return nil
	}
	return *size.Metadata.TotalSize
}

// modelName names a model after its folder, because a checkpoint's folder usually has the model's name, or after the file if that is not called
// config.json. The name is only for people; predictions use the keys.
func modelName(file string) string {
	if path, err := filepath.Abs(file); err == nil {
		file = path
	}
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	if name == "config" {
		name = filepath.Base(filepath.Dir(file))
	}
	return name
}

// readModel reads a model that is named by a path. Any other name, and the text of a config (it starts with a brace), is returned unchanged.
func readModel(ctx context.Context, db *sql.DB, model string) (string, error) {
	if strings.HasPrefix(model, "{") || !isModelPath(model) {
		return model, nil
	}
	return ReadModelConfig(ctx, db, model)
}

// isModelPath tells a path from a name like meta-llama/Llama-3.1-8B. It is a path if it ends in .json, or if it is a folder with a config.json.
func isModelPath(model string) bool {
	if strings.HasSuffix(model, ".json") {
		return true
	}
	_, err := os.Stat(filepath.Join(model, "config.json"))
	return model != "" && err == nil
}
