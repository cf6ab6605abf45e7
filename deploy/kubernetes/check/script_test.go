package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stub stands for commute: it writes down its arguments, and exits with $RESUME or $START.
const stub = `#!/bin/sh
echo "$*" >>"$LOG"
case $2 in
--resume) exit "$RESUME" ;;
*) [ "$START" = wait ] || exit "$START" ;;
esac
trap 'exit 130' TERM
while :; do sleep 0.1; done
`

// script returns the container's command with a stub of commute, and the file that the stub writes.
func script(t *testing.T, resume, start string) (*exec.Cmd, string) {
	t.Helper()
	container := load(t, "../base").job.Spec.Template.Spec.Containers[0]
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "commute"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(folder, "log")
	command := exec.Command(container.Command[0], append(container.Command[1:], container.Args...)...)
	command.Env = []string{
		"PATH=" + folder + ":/usr/bin:/bin", "LOG=" + log, "RESUME=" + resume, "START=" + start,
		"JOB_COMPLETION_INDEX=2", "SHARDS=4", "OUT=s3://bucket/a run", "OPTIONS=--quick --seed 3", "STUDY=my study.toml",
	}
	return command, log
}

func TestAPodContinuesItsShardOrStartsIt(t *testing.T) {
	const resumes = "run --resume s3://bucket/a run/shard-3-of-4\n"
	const starts = "run --shard 3/4 --out s3://bucket/a run --quick --seed 3 -- my study.toml\n"
	for _, test := range []struct {
		resume, start, calls string
		code                 int
	}{
		{"0", "", resumes, 0},
		{"3", "", resumes, 0},
		{"1", "", resumes, 1},
		{"2", "0", resumes + starts, 0},
		{"2", "3", resumes + starts, 0},
		{"2", "2", resumes + starts, 2},
		{"2", "4", resumes + starts, 4},
	} {
		command, log := script(t, test.resume, test.start)
		command.Run()
		calls, _ := os.ReadFile(log)
		if code := command.ProcessState.ExitCode(); code != test.code || string(calls) != test.calls {
			t.Errorf("%+v: exit code %d, calls %s", test, code, calls)
		}
	}
}

func TestAnEvictedPodEndsItsCell(t *testing.T) {
	command, log := script(t, "2", "wait")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for calls := ""; !strings.Contains(calls, "--shard"); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(log)
		calls = string(text)
	}
	// The stub sets its trap right after it has written.
	time.Sleep(200 * time.Millisecond)
	command.Process.Signal(syscall.SIGTERM)
	command.Wait()
	if code := command.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}
