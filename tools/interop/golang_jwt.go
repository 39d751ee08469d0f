// golang-jwt. Usage: golang_jwt FOLDER (jwks.json, cases.tsv)
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"

	"github.com/golang-jwt/jwt"
)

type keySet struct {
	Keys []struct{ Kid, X, Y string }
}

func number(text string) *big.Int {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return new(big.Int).SetBytes(bytes)
}

func main() {
	text, err := os.ReadFile(os.Args[1] + "/jwks.json")
	if err != nil {
		panic(err)
	}
	var set keySet
	if err := json.Unmarshal(text, &set); err != nil {
		panic(err)
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, key := range set.Keys {
		keys[key.Kid] = &ecdsa.PublicKey{Curve: elliptic.P256(), X: number(key.X), Y: number(key.Y)}
	}
	find := func(token *jwt.Token) (interface{}, error) {
		kid, _ := token.Header["kid"].(string)
		if key, known := keys[kid]; known {
			return key, nil
		}
		return nil, fmt.Errorf("unknown kid")
	}
	file, err := os.Open(os.Args[1] + "/cases.tsv")
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}))
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), "\t", 2)
		if _, err := parser.Parse(parts[1], find); err == nil {
			fmt.Printf("%s\taccept\t\n", parts[0])
		} else {
			fmt.Printf("%s\trefuse\t%s\n", parts[0], strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
}
