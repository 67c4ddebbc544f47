// Lists the packages that a server loads at start. They do not change between two saves, so a standby server
// can load them in advance.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const imported =
  /^(?:import|export)\s(?!type\s)[^'"]*?from '((?!node:|\.)[^']+)'|^import '((?!node:|\.)[^']+)'/gm

/** The package specifiers, with subpaths, that the server's folders import at load time. */
export function packagesOf(folder: string): string[] {
  const names = new Set<string>()
  for (const layer of ['app', 'handlers', 'services', 'infra', 'generated']) {
    for (const file of readdirSync(join(folder, layer), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue
      for (const [, from, bare] of readFileSync(join(folder, layer, file), 'utf8').matchAll(imported))
        names.add(from ?? bare)
    }
  }
  return [...names]
}
