package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stub stands for commute: it writes down its arguments, and exits with $CODE.
const stub = `#!/bin/sh
trap 'exit 130' TERM
echo "$*" >>"$LOG"
[ "$CODE" = wait ] || exit "$CODE"
while :; do sleep 0.1; done
`

// script returns the container's command for the third of four shards, in a folder of its own.
func script(t *testing.T, path string, environment ...string) *exec.Cmd {
	t.Helper()
	container := load(t, "../base").job.Spec.Template.Spec.Containers[0]
	command := exec.Command(container.Command[0], append(container.Command[1:], container.Args...)...)
	command.Dir = t.TempDir()
	command.Env = append([]string{"PATH=" + path + ":/usr/bin:/bin", "JOB_COMPLETION_INDEX=2", "SHARDS=4"}, environment...)
	return command
}

// stubbed returns the command with a stub of commute, and the file that the stub writes.
func stubbed(t *testing.T, code string) (*exec.Cmd, string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "commute"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(folder, "log")
	command := script(t, folder, "LOG="+log, "CODE="+code, "OUT=s3://bucket/a run", "OPTIONS=--seed 3 *", "STUDY=my study.toml")
	// What a pattern of file names would match.
	if err := os.WriteFile(filepath.Join(command.Dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return command, log
}

func TestAPodBeginsItsShardOrContinuesIt(t *testing.T) {
	const expected = "run --shard 3/4 --out s3://bucket/a run --or-resume --seed 3 * -- my study.toml\n"
	// Codes of commute and of the container: `commute report` judges thresholds.
	for code, ends := range map[string]int{"0": 0, "1": 1, "2": 2, "3": 0, "4": 4} {
		command, log := stubbed(t, code)
		command.Run()
		calls, _ := os.ReadFile(log)
		if found := command.ProcessState.ExitCode(); found != ends || string(calls) != expected {
			t.Errorf("code %s: exit code %d, calls %s", code, found, calls)
		}
	}
}

func TestAnEvictedPodEndsItsCell(t *testing.T) {
	command, log := stubbed(t, "wait")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "call of commute", func() bool {
		calls, _ := os.ReadFile(log)
		return len(calls) > 0
	})
	command.Process.Signal(syscall.SIGTERM)
	command.Wait()
	if code := command.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// TestAnEvictedPodIsContinued runs the container's command with commute itself. A folder stands for the bucket.
func TestAnEvictedPodIsContinued(t *testing.T) {
	program := os.Getenv("COMMUTE")
	if program == "" {
		t.Skip("needs a commute of this checkout by its path in COMMUTE")
	}
	home, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run")
	pod := func() *exec.Cmd {
		command := script(t, filepath.Dir(program), "COMMUTE_HOME="+home, "OUT="+out, "OPTIONS=--no-self-test", "STUDY=small.toml")
		// Three cells of each of two arms are in the third shard.
		text := strings.Replace(study, "blocks = 1", "blocks = 12", 1)
		if err := os.WriteFile(filepath.Join(command.Dir, "small.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return command
	}
	records := func() []string {
		cells, _ := filepath.Glob(filepath.Join(out, "cells/*.1.1.json"))
		return cells
	}
	first := pod()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "record", func() bool { return len(records()) > 0 })
	first.Process.Signal(syscall.SIGTERM)
	first.Wait()
	before := records()
	if code := first.ProcessState.ExitCode(); code != 130 || len(before) == 6 {
		t.Fatalf("exit code %d with %d records", code, len(before))
	}
	if output, err := pod().CombinedOutput(); err != nil {
		t.Fatalf("the next pod: %v: %s", err, output)
	}
	if after := records(); len(after) != 6 {
		t.Errorf("%d records", len(after))
	}
}
