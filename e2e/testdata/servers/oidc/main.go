// Command oidc is an OpenID Connect provider for tests: the library zitadel/oidc with its in-memory
// storage, people from a file, and their groups. It prints its address.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	users := flag.String("users", "", "file of people: id → User, with Groups")
	redirect := flag.String("redirect", "", "address that people come back to")
	flag.Parse()
	if err := run(*listen, *users, *redirect); err != nil {
		log.Fatal(err)
	}
}

func run(listen, users, redirect string) error {
	store, err := storage.StoreFromFile(users)
	if err != nil {
		return err
	}
	groups, err := groupsOf(users)
	if err != nil {
		return err
	}
	storage.RegisterClients(storage.WebClient("ahphub", "the client's secret", redirect))
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String()
	fmt.Println(issuer)
	provider := exampleop.SetupServer(issuer, &grouped{storage.NewStorage(store), groups},
		slog.New(slog.NewTextHandler(os.Stderr, nil)), false)
	return http.Serve(l, provider)
}

func groupsOf(file string) (map[string][]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all map[string]struct{ Groups []string }
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for id, u := range all {
		groups[id] = u.Groups
	}
	return groups, nil
}

// grouped adds people's groups to the userinfo, which the example storage does not.
type grouped struct {
	*storage.Storage
	groups map[string][]string
}

func (g *grouped) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	err := g.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
	info.AppendClaims("groups", g.groups[info.Subject])
	return err
}

var _ op.Storage = (*grouped)(nil)
