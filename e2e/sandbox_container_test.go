package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox/box/boxtest"
)

// A session in a container runs in the image that its repository selects among those the owner
// allows. The card and the session's info show the image, the result of the repository's command,
// and its other requests.
func TestSessionRunsInContainer(t *testing.T) {
	engine, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("containers are not tried: podman is not installed")
	}
	image, err := boxtest.Image(engine)
	if err != nil {
		t.Skip("containers are not tried: ", err)
	}
	t.Parallel()
	dir := t.TempDir()
	prog := Start(t, Options{Boxed: true, Dir: dir, Args: []string{"--sandbox", "container", "--sandbox-image", image,
		"--sandbox-network", "none"}})
	const said = `{"image": "localhost/unknown:1", "postCreateCommand": "echo set''up", "containerEnv": {"TEAM": "blue"}}`
	if err := os.WriteFile(filepath.Join(dir, ".devcontainer.json"), []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	page := OpenBrowser(t).Page()
	page.SignIn(prog)
	newSession(page, prog, "echo $IMAGE-$TEAM; cat "+prog.Data+"/token >/dev/null && echo got''out || echo stayed''in")
	page.WaitText(".approval .sandbox-says", "Container (image "+image+"): this session's files, no network")
	page.Click(`.approval button[data-kind=approve]`)
	page.WaitText("#turns", "yes-blue")
	page.WaitText("#turns", "stayedin")
	page.Open(Eval[string](page, "location.href"))
	page.Live()
	page.Click("summary[aria-label=\"Session menu\"]")
	page.Click("[data-info]")
	page.Wait(`(() => {
		const state = document.querySelector("#container li + li .verdict")?.textContent
		if (state && state !== "Done") {
			document.querySelector("#info").close()
			document.querySelector("[data-info]").click() // which reads it again
		}
		return state === "Done"
	})()`)
	text := Eval[string](page, `document.querySelector("#container").textContent`)
	for _, want := range []string{image, "echo set''up", "setup", `image: "localhost/unknown:1" isn't allowed`,
		"--sandbox-images localhost/unknown:1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the session's info lacks %q: %s", want, text)
		}
	}
	page.Pictures("container-info", "#info")
}
