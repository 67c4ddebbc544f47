// The packages of the clients of exactly this server's contract. The TypeScript client, for
// `npm install https://…/docs/client.tgz`, is the folder generated/client with the types of the published
// document; the Python client, for `pip install https://…/docs/client-python.tar.gz`, is the folder
// generated/client-python.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientTypes } from './client-types.ts'
import { openapiJson } from './openapi.ts'

const folder = join(import.meta.dirname, '../../generated/client')
const pythonFolder = join(import.meta.dirname, '../../generated/client-python')

/** In a clone for development the folder has it, too. */
const typesFile = 'types.d.ts'

export const clientPackagePath = '/docs/client.tgz'
export const pythonPackagePath = '/docs/client-python.tar.gz'

/** The file name of the download, with the version. */
export function clientPackageName(): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
  }
  return `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`
}

/** `portable` leaves out what differs between machines: owners, times and the system in the gzip header. */
const packOptions = { portable: true, mtime: new Date(0), gzip: { level: 9 } }

/** The tarball as `npm pack` would lay it out. The same files give the same bytes. */
export async function clientPackage(): Promise<Buffer> {
  const { Header, Pack, ReadEntry } = await import('tar')
  const pack = new Pack({ ...packOptions, cwd: folder, prefix: 'package' })
  for (const name of readdirSync(folder).sort()) if (name !== typesFile) pack.add(name)
  const text = Buffer.from(clientTypes(openapiJson('')))
  const entry = new ReadEntry(new Header({ path: typesFile, type: 'File', mode: 0o644, size: text.length }))
  entry.end(text)
  pack.add(entry)
  pack.end()
  return await pack.concat()
}

/** The file name of the Python package, without `.tar.gz`, as pip expects it. */
export function pythonPackageName(): string {
  const [, version] = /^version = "(.+)"$/m.exec(readFileSync(join(pythonFolder, 'pyproject.toml'), 'utf8'))!
  return `platform_api_client-${version}`
}

/** The source distribution of the Python client. The same files give the same bytes. */
export async function pythonPackage(): Promise<Buffer> {
  const { Pack } = await import('tar')
  const pack = new Pack({ ...packOptions, cwd: pythonFolder, prefix: pythonPackageName() })
  const modules = readdirSync(join(pythonFolder, 'platform_api')).map((name) => `platform_api/${name}`)
  const top = readdirSync(pythonFolder).filter((name) => name !== 'platform_api')
  for (const name of [...top, ...modules].sort()) if (!name.endsWith('__pycache__')) pack.add(name)
  pack.end()
  return await pack.concat()
}
