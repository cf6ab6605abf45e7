// Package check renders the manifests as `kubectl --kustomize` does, decodes them strictly, and checks what the docs
// say about them.
package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// rows are those of the docs that have a capability.
var rows = regexp.MustCompile("(?m)^\\| `[A-Z_]+` \\|")

// rendered is what a folder becomes.
type rendered struct {
	job  batchv1.Job
	maps []corev1.ConfigMap
}

func folders(t *testing.T) []string {
	t.Helper()
	overlays, err := filepath.Glob("../overlays/*")
	if err != nil || len(overlays) == 0 {
		t.Fatalf("no overlay: %v", err)
	}
	return append(overlays, "../base")
}

// render returns the objects of a folder, each as JSON.
func render(t *testing.T, folder string) [][]byte {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, object := range objects.Resources() {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

// decode fails on fields that the type does not have, in whatever case they are written, and on duplicates.
func decode(text []byte, into any) error {
	mistakes, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return fmt.Errorf("%v", mistakes)
	}
	return nil
}

func load(t *testing.T, folder string) rendered {
	t.Helper()
	var found rendered
	jobs := 0
	for _, text := range render(t, folder) {
		var kind struct{ Kind string }
		if err := json.Unmarshal(text, &kind); err != nil {
			t.Fatal(err)
		}
		var err error
		switch kind.Kind {
		case "Job":
			jobs++
			err = decode(text, &found.job)
		case "ConfigMap":
			var one corev1.ConfigMap
			err = decode(text, &one)
			found.maps = append(found.maps, one)
		default:
			err = fmt.Errorf("no type for kind %q here", kind.Kind)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", folder, kind.Kind, err)
		}
	}
	if jobs != 1 {
		t.Fatalf("%s: %d jobs", folder, jobs)
	}
	return found
}

func eachJob(t *testing.T, check func(t *testing.T, all rendered)) {
	for _, folder := range folders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) { check(t, load(t, folder)) })
	}
}

func TestUnknownFieldsAreErrors(t *testing.T) {
	for _, folder := range folders(t) {
		for _, text := range render(t, folder) {
			if !strings.Contains(string(text), `"kind":"Job"`) {
				continue
			}
			for _, field := range []string{"completions", "backoffLimitPerIndex", "readOnlyRootFilesystem", "drop"} {
				for _, other := range []string{field + "s", strings.ToLower(field) + "X", strings.ToUpper(field)} {
					changed := strings.Replace(string(text), `"`+field+`"`, `"`+other+`"`, 1)
					if changed == string(text) {
						t.Fatalf("no field %q", field)
					}
					if decode([]byte(changed), &batchv1.Job{}) == nil {
						t.Errorf("%s: %q was decoded", folder, other)
					}
				}
			}
		}
	}
}

func TestEachShardIsOnePodOnANodeOfItsOwn(t *testing.T) {
	eachJob(t, func(t *testing.T, all rendered) {
		spec := all.job.Spec
		if *spec.CompletionMode != batchv1.IndexedCompletion || *spec.Parallelism > *spec.Completions {
			t.Error("not an Indexed Job, or more pods than shards")
		}
		pod := spec.Template.Spec
		if shards := variable(t, pod, "SHARDS"); shards != strconv.Itoa(int(*spec.Completions)) {
			t.Errorf("SHARDS is %s for %d completions", shards, *spec.Completions)
		}
		if pod.RestartPolicy != corev1.RestartPolicyNever || spec.BackoffLimitPerIndex == nil {
			t.Error("a failure of one shard is not counted for it alone")
		}
		terms := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if len(terms) != 1 || terms[0].TopologyKey != corev1.LabelHostname {
			t.Fatal("pods may share a node")
		}
		// Without a selector only pods of the same namespace are kept away.
		everywhere := terms[0].NamespaceSelector
		if everywhere == nil || len(everywhere.MatchLabels)+len(everywhere.MatchExpressions) > 0 {
			t.Errorf("pods of other namespaces may share the node: %v", everywhere)
		}
		for name, value := range terms[0].LabelSelector.MatchLabels {
			if spec.Template.Labels[name] != value {
				t.Errorf("the pods lack the label %s=%s", name, value)
			}
		}
	})
}

func TestRequestsAreLimits(t *testing.T) {
	eachJob(t, func(t *testing.T, all rendered) {
		pod := all.job.Spec.Template.Spec
		if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
			t.Fatal("the checks are for one container")
		}
		resources := pod.Containers[0].Resources
		for _, name := range []corev1.ResourceName{
			corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		} {
			request, limit := resources.Requests[name], resources.Limits[name]
			if request.IsZero() || request.Cmp(limit) != 0 {
				t.Errorf("%s: request %v, limit %v", name, request.String(), limit.String())
			}
		}
		// Only whole cores are given to a container alone.
		if cpu := resources.Limits[corev1.ResourceCPU]; cpu.MilliValue()%1000 != 0 {
			t.Errorf("%v cores", cpu.String())
		}
	})
}

func TestPrivilegesAreThoseStated(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/many-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	eachJob(t, func(t *testing.T, all rendered) {
		pod := all.job.Spec.Template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Error("the pod gets a token of its service account")
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			t.Error("the pod shares namespaces of the node")
		}
		for _, volume := range pod.Volumes {
			if volume.EmptyDir == nil && volume.ConfigMap == nil {
				t.Errorf("volume %s is neither empty nor a ConfigMap", volume.Name)
			}
		}
		context := pod.Containers[0].SecurityContext
		if context.Privileged != nil || *context.AllowPrivilegeEscalation || !*context.ReadOnlyRootFilesystem {
			t.Error("the container is privileged, or its root file system can be written to")
		}
		if context.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Error("seccomp is not that of the runtime")
		}
		if !slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Error("capabilities are kept by default")
		}
		for _, capability := range context.Capabilities.Add {
			if !strings.Contains(string(page), "| `"+string(capability)+"` |") {
				t.Errorf("the docs do not say why the pod has %s", capability)
			}
		}
		if stated := len(rows.FindAll(page, -1)); stated != len(context.Capabilities.Add) {
			t.Errorf("the docs state %d capabilities, the pod has %d", stated, len(context.Capabilities.Add))
		}
	})
}

func TestCredentialsAreInASecretOnly(t *testing.T) {
	eachJob(t, func(t *testing.T, all rendered) {
		container := all.job.Spec.Template.Spec.Containers[0]
		secrets := 0
		for _, source := range container.EnvFrom {
			if source.SecretRef != nil {
				secrets++
			}
		}
		if secrets != 1 {
			t.Errorf("%d secrets", secrets)
		}
		for _, one := range all.maps {
			for key := range one.Data {
				if strings.HasPrefix(key, "AWS_") {
					t.Errorf("%s is in a ConfigMap", key)
				}
			}
		}
	})
}

// TestTheStudyOfTheExampleIsInThePod follows its path to the file of the overlay.
func TestTheStudyOfTheExampleIsInThePod(t *testing.T) {
	all := load(t, "../overlays/example")
	data := map[string]map[string]string{}
	for _, one := range all.maps {
		data[one.Name] = one.Data
	}
	pod := all.job.Spec.Template.Spec
	// What kustomize names, with the hash of the content, is what the Job refers to.
	settings := data[pod.Containers[0].EnvFrom[0].ConfigMapRef.Name]
	folder, name := filepath.Split(settings["STUDY"])
	var found string
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath+"/" == folder && volume.Name == mount.Name {
				found = data[volume.ConfigMap.Name][name]
			}
		}
	}
	file, err := os.ReadFile(filepath.Join("../overlays/example", name))
	if err != nil {
		t.Fatal(err)
	}
	if found != string(file) {
		t.Errorf("%q in %q is not %s of the overlay", name, folder, name)
	}
}

func TestTheExampleHasADigest(t *testing.T) {
	image := load(t, "../overlays/example").job.Spec.Template.Spec.Containers[0].Image
	if !strings.Contains(image, "@sha256:") {
		t.Errorf("%s may become another image within a run", image)
	}
}

// variable returns the value of an environment variable of the container.
func variable(t *testing.T, pod corev1.PodSpec, name string) string {
	t.Helper()
	for _, variable := range pod.Containers[0].Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	t.Fatalf("no variable %s", name)
	return ""
}
