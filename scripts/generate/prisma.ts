// Generates the Prisma client: client.js for the server, and the modules with its types for the compiler,
// which are not in git. `prisma generate` would download a schema engine that it does not use;
// PRISMA_SCHEMA_ENGINE_BINARY set to any existing file prevents that.
import { build, version as esbuildVersion } from 'esbuild'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { GenerateError } from './error.ts'

/** In git. The other files are types. */
const served = ['client.js', 'schema.sha256']
/** The hashes of the sources of client.js, and of the types. */
const stampNames = ['schema.sha256', 'types.sha256']

/**
 * Writes generated/prisma if schema.prisma or the Prisma version has changed. @returns what it wrote.
 * @param part only the types, or all.
 */
export async function generatePrisma(root: string, part: 'all' | 'types' = 'all'): Promise<string[]> {
  const { schema, stamp, out } = await state(root)
  const names = part === 'all' ? stampNames : ['types.sha256']
  const stamps = names.map((name) => readFile(join(out, name), 'utf8').catch(() => ''))
  if ((await Promise.all(stamps)).every((found) => found === stamp)) return []
  return await withFresh(root, schema, stamp, async (fresh) => {
    const written = (names: string[]): string[] =>
      names.filter((name) => part === 'all' || !served.includes(name))
    for (const name of written(await readdir(out).catch(() => [])))
      await rm(join(out, name), { recursive: true })
    for (const name of written(await readdir(fresh)))
      await cp(join(fresh, name), join(out, name), { recursive: true })
    return ['prisma']
  })
}

/** @returns the files of generated/prisma that are out of date. */
export async function stalePrisma(root: string): Promise<string[]> {
  const { schema, stamp, out } = await state(root)
  return await withFresh(root, schema, stamp, (fresh) => differing(fresh, out))
}

async function state(root: string): Promise<{ schema: string; stamp: string; out: string }> {
  const schema = await readFile(join(root, 'prisma/schema.prisma'), 'utf8')
  const { version } = JSON.parse(await readFile(join(root, 'node_modules/prisma/package.json'), 'utf8'))
  return {
    schema,
    stamp: `${createHash('sha256').update(`${version} ${esbuildVersion}\n${schema}`).digest('hex')}\n`,
    out: join(root, 'generated/prisma'),
  }
}

async function withFresh(
  root: string,
  schema: string,
  stamp: string,
  use: (fresh: string) => Promise<string[]>,
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'prisma-'))
  try {
    const fresh = await run(root, schema, folder)
    await writeScript(folder, fresh)
    for (const name of stampNames) await writeFile(join(fresh, name), stamp)
    return await use(fresh)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Generates in a temporary folder with the same layout, because the client contains its output path. */
async function run(root: string, schema: string, folder: string): Promise<string> {
  const file = join(folder, 'prisma/schema.prisma')
  await mkdir(dirname(file))
  await writeFile(file, schema)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  try {
    await promisify(execFile)(
      process.execPath,
      [join(root, 'node_modules/prisma/build/index.js'), 'generate', '--schema', file],
      {
        cwd: folder,
        env: {
          ...process.env,
          PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
          PRISMA_HIDE_UPDATE_MESSAGE: '1',
          CHECKPOINT_DISABLE: '1',
        },
      },
    )
  } catch (error) {
    throw new GenerateError(
      `prisma generate failed: ${(error as { stderr?: string }).stderr ?? (error as Error).message}`,
      { cause: error },
    )
  }
  return join(folder, 'generated/prisma')
}

/** Joins the modules to one and leaves out their types. */
async function writeScript(folder: string, fresh: string): Promise<void> {
  await build({
    absWorkingDir: folder,
    entryPoints: [join(fresh, 'client.ts')],
    outfile: join(fresh, 'client.js'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'es2024',
    charset: 'utf8',
  })
}

async function differing(fresh: string, committed: string): Promise<string[]> {
  const names = new Set([...(await filesBelow(fresh)), ...(await filesBelow(committed))])
  const stale: string[] = []
  for (const name of [...names].sort()) {
    const [a, b] = await Promise.all(
      [fresh, committed].map((folder) => readFile(join(folder, name), 'utf8').catch(() => '')),
    )
    if (a !== b) stale.push(`generated/prisma/${name}`)
  }
  return stale
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name).slice(folder.length + 1))
}
