// Package module tells the versions of the modules in this binary.
package module

import "runtime/debug"

// Version is the version of a module as it was built into this binary.
func Version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}
