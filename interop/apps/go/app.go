package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// An app answers the matrix's requests (interop/README.md has them).
type app struct {
	folder string

	mu   sync.Mutex
	seen map[string]int // uploads by id
}

func newApp(folder string) http.Handler {
	a := &app{folder: folder, seen: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/upload", a.upload)
	mux.HandleFunc("/seen", a.count)
	mux.HandleFunc("/trailers", trailers)
	mux.HandleFunc("/hints", hints)
	mux.HandleFunc("/", a.file)
	return mux
}

func (a *app) upload(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.seen[r.URL.Query().Get("id")]++
	a.mu.Unlock()
	sum := sha256.New()
	length, err := io.Copy(sum, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "%s %d\n", hex.EncodeToString(sum.Sum(nil)), length)
}

func (a *app) count(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(w, "%d\n", a.seen[r.URL.Query().Get("id")])
}

func trailers(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Trailer", "X-Interop")
	io.WriteString(w, "body\n")
	w.(http.Flusher).Flush()
	w.Header().Set("X-Interop", "trailer")
}

func hints(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", "</style.css>; rel=preload; as=style")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Del("Link")
	io.WriteString(w, "body\n")
}

// file serves a file with a strong ETag, which net/http does not make by itself.
func (a *app) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	file, err := os.Open(filepath.Join(a.folder, filepath.Base(name)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%s-%d"`, name, info.Size()))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, name, info.ModTime(), file)
}
