// The npm package of the TypeScript client, for `npm install https://…/docs/client.tgz`: the folder
// generated/client with the types of the published document, so the client of exactly this server's contract.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientTypes } from './client-types.ts'
import { openapiJson } from './openapi.ts'

const folder = join(import.meta.dirname, '../../generated/client')

/** In a clone for development the folder has it, too. */
const typesFile = 'types.d.ts'

export const clientPackagePath = '/docs/client.tgz'

/** The file name of the download, with the version. */
export function clientPackageName(): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
  }
  return `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`
}

/** The tarball as `npm pack` would lay it out. The same files give the same bytes. */
export async function clientPackage(): Promise<Buffer> {
  const { Header, Pack, ReadEntry } = await import('tar')
  // `portable` leaves out what differs between machines: owners, times and the system in the gzip header.
  const options = { cwd: folder, prefix: 'package', portable: true, mtime: new Date(0), gzip: { level: 9 } }
  const pack = new Pack(options)
  for (const name of readdirSync(folder).sort()) if (name !== typesFile) pack.add(name)
  const text = Buffer.from(clientTypes(openapiJson('')))
  const entry = new ReadEntry(new Header({ path: typesFile, type: 'File', mode: 0o644, size: text.length }))
  entry.end(text)
  pack.add(entry)
  pack.end()
  return await pack.concat()
}
