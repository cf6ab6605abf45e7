// Package module reports the versions of the modules in this binary.
package module

import "runtime/debug"

// Version returns the version of a module as built into this binary.
func Version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}
