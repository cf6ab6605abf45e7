package engine

import "runtime/debug"

// ModuleVersion is the version of a module as it was built into this binary.
func ModuleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}
