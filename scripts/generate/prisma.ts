// Generates the Prisma client. `prisma generate` would download a schema engine that it does not use;
// PRISMA_SCHEMA_ENGINE_BINARY set to any existing file prevents that.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { GenerateError } from './error.ts'

const stampName = 'schema.sha256'

/** Writes generated/prisma if schema.prisma or the Prisma version has changed. @returns what it wrote. */
export async function generatePrisma(root: string): Promise<string[]> {
  const { schema, stamp, out } = await state(root)
  if ((await readFile(join(out, stampName), 'utf8').catch(() => '')) === stamp) return []
  return await withFresh(root, schema, stamp, async (fresh) => {
    await rm(out, { recursive: true, force: true })
    await cp(fresh, out, { recursive: true })
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
    stamp: `${createHash('sha256').update(`${version}\n${schema}`).digest('hex')}\n`,
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
    await writeFile(join(fresh, stampName), stamp)
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
