// The packages of the toolkit as npm tarballs, for `npm install https://…/docs/packages/toolkit.tgz`. The
// image has them in packages/tarballs. A clone with the development dependencies packs them for the first
// request; other servers have none.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { notFound } from '../../infra/errors.ts'

const root = resolve(import.meta.dirname, '../..')
const prepared = join(root, 'packages/tarballs')
const pack = join(root, 'scripts/pack/main.ts')

const names = ['openapi', 'lint', 'generate', 'contract', 'mock', 'changes', 'toolkit']

/** The name of the package by the path of its tarball. */
export const toolkitPackages: Array<[path: string, name: string]> = names.map((name) => [
  `/docs/packages/${name}.tgz`,
  name,
])

const folder = new Lazy(async () => {
  if (existsSync(prepared)) return prepared
  if (!existsSync(pack) || !existsSync(join(root, 'node_modules/typescript'))) throw notFound('path')
  const out = await mkdtemp(join(tmpdir(), 'toolkit-packages-'))
  await promisify(execFile)(process.execPath, [pack, out])
  return out
})

/** @throws ApiError (404) if the server has no packages. */
export async function toolkitPackage(name: string): Promise<Buffer> {
  const tarballs = await readdir(await folder.get())
  const file = tarballs.find((each) => each.startsWith(`platform-api-${name}-`))
  if (file === undefined) throw notFound('path')
  return await readFile(join(await folder.get(), file))
}
