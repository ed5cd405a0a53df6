package engines

// OpenAI is any server with OpenAI's API of which nothing else is known: llama.cpp, TGI, Ollama, a gateway.
//
// What its wire lacks: there is no request for its settings, its load or its cache, so a run neither waits for others'
// requests nor compares the deployment. Nothing counts the tokens of a chunk, and usage may be missing altogether; without
// it the tokens of an answer are not known, and then neither is TPOT. return_token_ids is asked for all the same: a gateway
// may stand in front of a vLLM.
var OpenAI = Engine{
	Name:             "openai",
	Fields:           Fields{TokenIDs: true},
	DetokenizedField: "prompt",
}
