// The npm package of the TypeScript client, for `npm install https://…/docs/client.tgz`: the folder
// generated/client, so the client of exactly this server's contract.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../generated/client')

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
  const names = readdirSync(folder).sort()
  // `portable` leaves out what differs between machines: owners, times and the system in the gzip header.
  const options = { cwd: folder, prefix: 'package', portable: true, mtime: new Date(0), gzip: { level: 9 } }
  const { create } = await import('tar')
  return await create(options, names).concat()
}
