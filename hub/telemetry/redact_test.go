package telemetry

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Secrets are found in every spelling, also where a letter beyond ASCII folds to one of a keyword.
func TestTextsWithSecretsAreSearched(t *testing.T) {
	pieces := strings.Split("x, ,:,:,=,=,_,-,.,é,abcdefghijklmnop,1234567890abcdef,Bearer,bearer ,BASIC,basic ,"+
		"authorization,cookie,password,passwd,secret,\u017fecret,x\u017fecret=abcdefgh,token,toKen,to\u212aen,tkn,apikey,API-Key,api_key,ahp_,"+
		"sk-,sk-abcdefghijkl,ghp_,GHO_,ghu_,ghs_,ghr_,github_pat_,xoxb-,XoxA-,glpat-,AKIA,akia,eyJ,eyj", ",")
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 10_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		v := b.String()
		want := secretText.ReplaceAllString(v, hidden)
		if want != v {
			found++
		}
		if got := new(secrets).text(v); got != want {
			t.Fatalf("%q became %q, want %q", v, got, want)
		}
	}
	if found < 500 {
		t.Fatalf("only %d of the texts had a secret", found)
	}
}

func BenchmarkText(b *testing.B) {
	v := strings.Repeat("the turn of a session has ended after a while; ", 85)
	b.SetBytes(int64(len(v)))
	for b.Loop() {
		new(secrets).text(v)
	}
}
