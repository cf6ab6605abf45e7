package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespace = "measurements"
	// Fewer than the shards of the example, and each large enough for several pods.
	nodes = 5
)

// TestAControlPlaneRunsTheJob has the API server, the controllers and the scheduler of Kubernetes run the example. The
// nodes are objects only: no container is started, and the test plays the kubelets.
func TestAControlPlaneRunsTheJob(t *testing.T) {
	server := startControlPlane(t)
	server.send(http.MethodPost, "/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, nil)
	for number := range nodes {
		server.addNode(fmt.Sprintf("node-%d", number))
	}
	// Without its service account no pod is created.
	wait(t, "service account", func() bool {
		return server.exists("/api/v1/namespaces/" + namespace + "/serviceaccounts/default")
	})
	objects := render(t, "../overlays/example")
	for _, object := range objects {
		server.post(t, object, "?dryRun=All&fieldValidation=Strict")
	}
	for _, object := range objects {
		server.post(t, object, "?fieldValidation=Strict")
	}
	job := load(t, "../overlays/example").job
	// As the overlay says: a Job cannot be changed.
	other := load(t, "../overlays/example").job
	other.Spec.Template.Spec.Containers[0].Image = "another"
	text, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	path := "/apis/batch/v1/namespaces/" + namespace + "/jobs/" + job.Name
	if code, answer := server.request(http.MethodPut, path, bytes.NewReader(text)); code != http.StatusUnprocessableEntity {
		t.Errorf("another run in the same Job: %d %s", code, answer)
	}
	t.Run("every shard runs once, one pod per node", func(t *testing.T) { server.succeed(t, job) })
	t.Run("a failed pod is replaced, and a wrong option fails the job", func(t *testing.T) { server.fail(t, job) })
}

// succeed lets pods end well as they are scheduled, until the job is complete.
func (server *server) succeed(t *testing.T, job batchv1.Job) {
	shards := int(*job.Spec.Completions)
	done := map[string]bool{}
	for len(done) < shards {
		running := server.scheduled(t, min(nodes, shards-len(done)))
		used := map[string]bool{}
		for _, pod := range running {
			if used[pod.Spec.NodeName] {
				t.Fatalf("two pods on %s", pod.Spec.NodeName)
			}
			used[pod.Spec.NodeName] = true
			index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
			if done[index] {
				t.Fatalf("shard %s ran twice", index)
			}
			done[index] = true
			if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
				t.Errorf("quality of service %s", pod.Status.QOSClass)
			}
			server.end(pod, 0)
		}
	}
	wait(t, "complete job", func() bool { return server.condition(job.Name) == batchv1.JobComplete })
}

// fail ends the pod of one shard with code 4 and of another with code 2.
func (server *server) fail(t *testing.T, job batchv1.Job) {
	other := batchv1.Job{
		TypeMeta:   job.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: namespace},
		Spec:       job.Spec,
	}
	text, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	server.post(t, text, "")
	first := server.scheduled(t, nodes)[0]
	index := first.Annotations[batchv1.JobCompletionIndexAnnotation]
	server.end(first, 4)
	wait(t, "other pod for the shard", func() bool {
		for _, pod := range server.pods() {
			again := pod.Annotations[batchv1.JobCompletionIndexAnnotation] == index && pod.Name != first.Name
			if again && pod.Status.Phase == corev1.PodPending {
				return true
			}
		}
		return false
	})
	if condition := server.condition("other"); condition != "" {
		t.Fatalf("the job is %s", condition)
	}
	server.end(server.scheduled(t, nodes)[0], 2)
	// The job has failed when its other pods have ended, which nothing here does.
	wait(t, "failing job", func() bool { return server.condition("other") == batchv1.JobFailureTarget })
}

// scheduled waits until exactly so many pods that have not ended have a node, and returns them.
func (server *server) scheduled(t *testing.T, count int) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	wait(t, fmt.Sprintf("%d pods with a node", count), func() bool {
		found = nil
		for _, pod := range server.pods() {
			if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
				found = append(found, pod)
			}
		}
		return len(found) == count
	})
	// One more than nodes would come soon after.
	time.Sleep(500 * time.Millisecond)
	return found
}

// end reports what a kubelet would when the container ends.
func (server *server) end(pod corev1.Pod, code int32) {
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	now := metav1.Now()
	terminated := &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: now, FinishedAt: now}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: terminated}},
	}
	pod.ManagedFields = nil
	server.send(http.MethodPut, "/api/v1/namespaces/"+namespace+"/pods/"+pod.Name+"/status", &pod, nil)
}

func (server *server) pods() []corev1.Pod {
	var list corev1.PodList
	server.send(http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods", nil, &list)
	return list.Items
}

// condition returns how a job has ended or is about to, or nothing.
func (server *server) condition(name string) batchv1.JobConditionType {
	var job batchv1.Job
	server.send(http.MethodGet, "/apis/batch/v1/namespaces/"+namespace+"/jobs/"+name, nil, &job)
	for _, condition := range job.Status.Conditions {
		ended := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailureTarget
		if ended && condition.Status == corev1.ConditionTrue {
			return condition.Type
		}
	}
	return ""
}

// addNode adds a node that is ready and has room for several pods.
func (server *server) addNode(name string) {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelHostname: name},
	}}
	server.send(http.MethodPost, "/api/v1/nodes", &node, &node)
	// As the docs say, in the place of the taint that admission gives to nodes that are not ready.
	node.Spec.Taints = []corev1.Taint{{Key: "commute", Effect: corev1.TaintEffectNoSchedule}}
	server.send(http.MethodPut, "/api/v1/nodes/"+name, &node, &node)
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("16"),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	server.send(http.MethodPut, "/api/v1/nodes/"+name+"/status", &node, nil)
}
