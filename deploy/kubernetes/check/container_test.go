package check

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	corev1 "k8s.io/api/core/v1"
)

const study = `
name = "small"
question = "does it run?"
networks = ["4g-tether"]
baseline = "one"
blocks = 1
timeout_s = 5
[[arm]]
name = "one"
stack = "hyper"
protocol = "h2"
[[arm]]
name = "two"
stack = "quinn"
protocol = "h3"
[[step]]
call = "echo"
times = 2
`

// containers is how many were started.
var containers int

// outcome is what a container measured.
type outcome struct {
	output string
	// Cells that the driver and the lab ended well.
	measured int
	// Whether the link had real-time priority, and whether a user namespace was needed.
	realtime, rootless bool
}

// TestTheContainerMeasures runs commute by runc, with the privileges of the manifest and what container runtimes add to
// them: their seccomp profile, and masked and read-only paths.
func TestTheContainerMeasures(t *testing.T) {
	program := os.Getenv("COMMUTE")
	if program == "" {
		t.Skip("needs a commute of this checkout by its path in COMMUTE")
	}
	if _, err := exec.LookPath("runc"); err != nil || os.Getuid() != 0 {
		t.Fatal("needs root and runc")
	}
	manifest := load(t, "../base").job.Spec.Template.Spec.Containers[0].SecurityContext
	all := manifest.Capabilities.Add
	whole := contain(t, program, *manifest, all)
	if whole.measured != 2 || !whole.realtime || whole.rootless {
		t.Fatalf("%+v", whole)
	}
	for index, capability := range all {
		without := append(append([]corev1.Capability{}, all[:index]...), all[index+1:]...)
		found := contain(t, program, *manifest, without)
		// A cell may also fail for another reason.
		for try := 1; try < 3 && found.measured != 2; try++ {
			found = contain(t, program, *manifest, without)
		}
		if found.measured == 2 && found.realtime && !found.rootless {
			t.Errorf("%s is not needed", capability)
		}
		// Not an error of runc.
		if !strings.Contains(found.output, "commute: ") && found.measured == 0 {
			t.Errorf("without %s: %s", capability, found.output)
		}
		reason, _, _ := strings.Cut(found.output, "\n")
		t.Logf("without %s: %d cells, real time %v: %s", capability, found.measured, found.realtime, reason)
	}
}

// contain runs a small study in a container.
func contain(t *testing.T, program string, manifest corev1.SecurityContext, add []corev1.Capability) outcome {
	t.Helper()
	home, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	bundle, work := t.TempDir(), t.TempDir()
	root := filepath.Join(bundle, "root")
	mounts := mounts(t, root)
	for _, mount := range []specs.Mount{
		{Destination: "/commute", Source: home, Options: []string{"rbind", "ro"}},
		{Destination: "/work", Source: work, Options: []string{"rbind", "rw"}},
		{Destination: "/tmp", Source: t.TempDir(), Options: []string{"rbind", "rw"}},
	} {
		mount.Type = "bind"
		mounts = append(mounts, mount)
	}
	if err := os.WriteFile(filepath.Join(work, "small.toml"), []byte(study), 0o644); err != nil {
		t.Fatal(err)
	}
	program, err = filepath.Rel(home, program)
	if err != nil || strings.HasPrefix(program, "..") {
		t.Fatalf("COMMUTE is not below %s: %v", home, err)
	}
	var capabilities []string
	for _, capability := range add {
		capabilities = append(capabilities, "CAP_"+string(capability))
	}
	spec := specs.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: root, Readonly: *manifest.ReadOnlyRootFilesystem},
		Mounts:  mounts,
		Process: &specs.Process{
			Cwd: "/work",
			Args: []string{
				"/commute/" + program, "run", "small.toml", "--no-self-test", "--out", "run",
			},
			Env:             []string{"PATH=/usr/bin:/bin", "COMMUTE_HOME=/commute", "XDG_CACHE_HOME=/work"},
			User:            specs.User{UID: uint32(*manifest.RunAsUser)},
			NoNewPrivileges: !*manifest.AllowPrivilegeEscalation,
			Capabilities: &specs.LinuxCapabilities{
				Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
			},
		},
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
			},
			MaskedPaths: []string{
				"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
				"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	// Kernels with CONFIG_RT_GROUP_SCHED give new groups of cgroup v1 no time for real-time threads.
	if _, err := os.Stat("/sys/fs/cgroup/cpu/cpu.rt_runtime_us"); err == nil {
		runtime, period := int64(200_000), uint64(1_000_000)
		spec.Linux.Resources = &specs.LinuxResources{
			CPU: &specs.LinuxCPU{RealtimeRuntime: &runtime, RealtimePeriod: &period},
		}
	}
	if spec.Linux.Seccomp, err = seccomp.GetDefaultProfile(&spec); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	containers++
	name := fmt.Sprintf("commute-check-%d-%d", os.Getpid(), containers)
	output, err := exec.Command("runc", "run", "--bundle", bundle, name).CombinedOutput()
	// A container that could not be started stays.
	exec.Command("runc", "delete", "--force", name).Run()
	found := outcome{output: string(output)}
	if err != nil {
		return found
	}
	read(t, filepath.Join(work, "run/run.json"), &found)
	return found
}

// read adds what the records say.
func read(t *testing.T, header string, found *outcome) {
	t.Helper()
	var run struct {
		Host struct{ Realtime, Rootless bool }
	}
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	found.realtime, found.rootless = run.Host.Realtime, run.Host.Rootless
	cells, err := filepath.Glob(filepath.Join(filepath.Dir(header), "cells/*.1.1.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		var record struct {
			Calls []struct{ Result json.RawMessage }
		}
		text, err := os.ReadFile(cell)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		if len(record.Calls) == 2 {
			found.measured++
		} else {
			found.output += string(text)
		}
	}
}

// mounts returns those of a container runtime, and this machine's programs. It creates the folders in root for them.
func mounts(t *testing.T, root string) []specs.Mount {
	t.Helper()
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	for _, name := range []string{"proc", "dev", "sys", "commute", "work", "tmp", "root", "run", "var/tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"} {
		target, err := os.Readlink(name)
		if err == nil {
			err = os.Symlink(target, filepath.Join(root, name))
		} else if _, missing := os.Stat(name); missing == nil {
			err = os.Mkdir(filepath.Join(root, name), 0o755)
			mounts = append(mounts, specs.Mount{
				Destination: name, Type: "bind", Source: name, Options: []string{"rbind", "ro"},
			})
		} else {
			err = nil
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return mounts
}
