// Which packages a start of the server loads: they do not change between two saves, so they are loaded before one.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const imported =
  /^(?:import|export)\s(?!type\s)[^'"]*?from '((?!node:|\.)[^']+)'|^import '((?!node:|\.)[^']+)'/gm

/** The packages, with their inner paths, that app/, handlers/ and services/ import when they are loaded. */
export function packagesOf(folder: string): string[] {
  const names = new Set<string>()
  for (const room of ['app', 'handlers', 'services', 'infra', 'generated']) {
    for (const file of readdirSync(join(folder, room), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue
      for (const [, from, bare] of readFileSync(join(folder, room, file), 'utf8').matchAll(imported))
        names.add(from ?? bare)
    }
  }
  return [...names]
}
