// Lists the packages that a server loads at start. They do not change between two saves, so a standby server
// can load them in advance.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const imported = /^(?:import|export)\s(?!type\s)[^'"]*?from '([^']+)'|^import '([^']+)'/gm

/**
 * The package specifiers, with subpaths, that the files of `entries` and the files that they import load.
 * Packages that are imported later, when a request needs them, would only make each standby slower.
 */
export function packagesOf(folder: string, entries: string[]): string[] {
  const names = new Set<string>()
  const files = new Set(entries.map((entry) => join(folder, entry)))
  // The loop also visits the files that are added on the way.
  for (const file of files) {
    if (!existsSync(file)) continue
    for (const [, from, bare] of readFileSync(file, 'utf8').matchAll(imported)) {
      const name = from ?? bare
      if (name.startsWith('.')) files.add(join(dirname(file), name))
      else if (!name.startsWith('node:')) names.add(name)
    }
  }
  return [...names]
}
